"""What is published: files as revisions, drafts of drawings, scenarios, decisions; compiled definitions."""
