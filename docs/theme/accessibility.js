// What the pages of the book lack for readers who use a keyboard or a screen reader.
{
  const toggle = document.getElementById('mdbook-sidebar-toggle');
  const checkbox = document.getElementById('mdbook-sidebar-toggle-anchor');
  toggle?.addEventListener('click', () => checkbox.click());

  // A keyboard reaches what scrolls, and nothing that does not.
  const parts = document.querySelectorAll('.table-wrapper, pre > code');
  const update = () => {
    for (const part of parts) {
      if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
      else part.removeAttribute('tabindex');
    }
  };
  const observer = new ResizeObserver(update);
  for (const part of parts) observer.observe(part);

  // The excerpt of a found page has a name that no element without a role may have.
  const results = document.getElementById('mdbook-searchresults');
  const unname = () => results.querySelectorAll('.teaser[aria-label]').forEach((it) => it.removeAttribute('aria-label'));
  if (results) new MutationObserver(unname).observe(results, { childList: true });
}
