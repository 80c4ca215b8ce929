/** Offers a text as a file download. */
export function downloadFile(name: string, text: string, type = 'text/plain'): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  [link.href, link.download] = [address, name];
  link.click();
  // The browser has started to read it by the time the next task runs.
  setTimeout(() => URL.revokeObjectURL(address));
}
