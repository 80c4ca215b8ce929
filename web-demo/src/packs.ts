import cardReplacement from '../../tests/packs/demo/card_replacement.json?raw';
import helpDesk from '../../tests/packs/demo/help_desk.json?raw';
import loan from '../../tests/packs/demo/loan.json?raw';
import modelActs from '../../tests/packs/demo/model_acts.json?raw';
import ruleLab from '../../tests/packs/demo/rule_lab.json?raw';

/** A pack to choose from, as the text that is edited and run. */
export interface Pack {
  name: string;
  about: string;
  text: string;
}

/** The packs that come with the page. */
export const packs: Pack[] = [helpDesk, loan, cardReplacement, modelActs, ruleLab].map((text) => {
  const { name, about } = JSON.parse(text) as { name: string; about?: string };
  return { name, about: about ?? '', text };
});
