const TOKEN = /<\/([\w:-]+)\s*>|<([\w:-]+)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>|([^<]+)/y;
const LOOSE_AMPERSAND = /&(?!(?:amp|lt|gt|quot|apos|#\d+|#x[\da-f]+);)/i;
// eslint-disable-next-line no-control-regex
const NOT_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/;

/** Checks that a text without prolog, comments and CDATA is well-formed; gives the names of its elements. */
export function elementsOf(xml: string): string[] {
  const names: string[] = [];
  const open: string[] = [];
  if (NOT_XML.test(xml)) throw new Error('a character that no XML may hold');
  TOKEN.lastIndex = 0;
  for (let at = 0; at < xml.length; at = TOKEN.lastIndex) {
    const match = TOKEN.exec(xml);
    const where = JSON.stringify(xml.slice(at, at + 60));
    if (match === null) throw new Error(`no token at ${where}`);
    const [, closed, opened, attributes = '', alone, text = ''] = match;
    if (LOOSE_AMPERSAND.test(attributes + text)) throw new Error(`a loose & at ${where}`);
    const attributeNames = [...attributes.matchAll(/([\w:-]+)=/g)].map(([, name]) => name);
    if (new Set(attributeNames).size < attributeNames.length) throw new Error(`twice at ${where}`);
    if (closed !== undefined && open.pop() !== closed) throw new Error(`not open: ${where}`);
    if (opened !== undefined) {
      if (open.length === 0 && names.length > 0) throw new Error(`a second root at ${where}`);
      names.push(opened);
      if (alone === '') open.push(opened);
    }
    if (open.length === 0 && text.trim() !== '') throw new Error(`outside the root: ${where}`);
  }
  if (open.length > 0) throw new Error(`never closed: ${open.join()}`);
  return names;
}
