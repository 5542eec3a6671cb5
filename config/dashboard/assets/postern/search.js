// The search palette: the theme's own, which `/` opens from every page and Enter leaves by the first answer.

function searchPalette() {
  const theme = searchCommand();
  return {
    ...theme,
    opener: null,
    // What is typed has not been answered yet.
    isStale: false,
    // Enter was pressed before the answers came.
    isWanted: false,
    hasFailed: false,

    handleShortcut(event) {
      theme.handleShortcut.call(this, event);
      // On other keyboard layouts the key of the slash writes something else.
      const isSlash = event.key === "/" || (event.code === "Slash" && !event.shiftKey);
      if (!isSlash || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      event.preventDefault();
      this.handleOpen();
    },

    handleOpen() {
      if (this.openCommandResults) return;
      this.opener = document.activeElement;
      this.openCommandResults = true;
      document.body.classList.add("overflow-hidden");
      this.$nextTick(() => {
        this.$refs.searchInputCommand.focus();
        this.$refs.searchInputCommand.select();
      });
    },

    close() {
      if (!this.openCommandResults) return;
      this.openCommandResults = this.isWanted = false;
      document.body.classList.remove("overflow-hidden");
      if (this.opener && this.opener.isConnected) this.opener.focus();
    },

    handleContentLoaded(event) {
      theme.handleContentLoaded.call(this, event);
      this.isStale = this.hasFailed = false;
      this.currentIndex = this.hasResults ? 1 : 0;
      if (this.isWanted) this.choose(false);
    },

    choose(inNewTab) {
      this.isWanted = this.isStale;
      if (!this.isStale && this.hasResults && this.currentIndex) this.selectItem(false, inNewTab);
    },

    fail(event) {
      if (event.target !== this.$refs.searchInputCommand) return;
      this.hasFailed = true;
      this.isWanted = false;
    },
  };
}

function isTyping(element) {
  return element.closest("input, textarea, select, [contenteditable]") !== null;
}
