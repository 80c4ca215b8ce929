/** A demo pack; the samples of the page are such packs. */
export interface Pack {
  name: string;
  about: string;
  text: string;
}

const texts = import.meta.glob<string>('../../tests/packs/demo/*.json', { query: '?raw', import: 'default', eager: true });

/** All demo packs. */
export const packs: Pack[] = Object.values(texts).map((text) => {
  const { name, about } = JSON.parse(text) as { name: string; about: string };
  return { name, about, text };
});
