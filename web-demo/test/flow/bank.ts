import text from '../../../tests/packs/flow/bank_desk.json?raw';

/** The pack of the bank as a flow. */
export const BANK = text;
