"""How often the elements of a revision are entered and how long instances stay there: totals, figures, the heat map."""
