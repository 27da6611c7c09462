// Browsers do not let a page that is opened from the disk read other pages, which the summaries of search results need.
if (location.protocol === "file:") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}
