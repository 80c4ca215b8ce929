/** A pack of the demo, as the page's samples are. */
export interface Pack {
  name: string;
  about: string;
  text: string;
}

const texts = import.meta.glob<string>('../../tests/packs/demo/*.json', { query: '?raw', import: 'default', eager: true });

/** The packs of the demo. */
export const packs: Pack[] = Object.values(texts).map((text) => {
  const { name, about } = JSON.parse(text) as { name: string; about: string };
  return { name, about, text };
});
