/** A minimal pack to start from. */
export const NEW_PACK = `{
  "name": "new pack",
  "tables": {
    "ce_intent": [
      { "intent_code": "GREETING", "description": "The user says hello" }
    ],
    "ce_intent_classifier": [
      { "classifier_id": 1, "rule_type": "REGEX", "pattern": "\\\\b(hello|hi)\\\\b", "intent_code": "GREETING", "state_code": "WELCOME", "priority": 10 }
    ],
    "ce_rule": [
      { "rule_id": 1, "phase": "PRE_RESPONSE_RESOLUTION", "intent_code": "GREETING", "state_code": "WELCOME", "rule_type": "REGEX", "match_pattern": ".*", "action": "SET_STATE", "action_value": "WELCOME", "priority": 100 }
    ],
    "ce_response": [
      { "response_id": 1, "intent_code": "ANY", "state_code": "ANY", "output_format": "TEXT", "response_type": "EXACT", "exact_text": "Hello. What can I do for you?", "priority": 100 }
    ]
  }
}
`;

/** The maximum size of an imported file, in bytes; the page keeps the whole text in memory. */
const MAX_FILE_BYTES = 16 << 20;

/** The files that a dialog offers to import. */
export const IMPORT_TYPES = '.json,.talk,.sql,application/json';

/** Whether a file is imported as text, such as a pack, a talk or SQL. */
export function isImportable(file: string): boolean {
  return /\.(json|sql|talk)$/i.test(file);
}

/** Reads files as text. */
export function readFiles(files: File[]): Promise<{ name: string; text: string }[]> {
  return Promise.all(files.map(async (it) => ({ name: it.name, text: await it.text() })));
}

/** Why a file is too large; empty when it is not. */
export function sizeProblem(file: string, size: number): string {
  return size > MAX_FILE_BYTES ? `'${file}' exceeds 16 MiB; open a smaller file` : '';
}

/** The file name of a pack: its name, or `pack.json`. */
export function packFileName(text: string): string {
  try {
    const { name } = JSON.parse(text) as { name?: unknown };
    const plain = typeof name === 'string' ? name.trim().replace(/[^\p{L}\p{N}_-]+/gu, '_').replace(/^_+|_+$/g, '') : '';
    return `${plain || 'pack'}.json`;
  } catch {
    // An invalid text can be downloaded as well.
    return 'pack.json';
  }
}
