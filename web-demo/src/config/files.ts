/** The smallest pack: a person has somewhere to begin. */
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

/** More than any pack needs; the page keeps the whole text. */
const LARGEST = 16 << 20;

/** Whether a file may be a pack, or anything else that is brought in as text. */
export function isImport(file: string): boolean {
  return /\.(json|sql)$/i.test(file);
}

/** Says why a file is not opened; nothing when it is. */
export function tooLarge(file: string, size: number): string {
  return size > LARGEST ? `'${file}' has more than ${LARGEST} bytes: open a smaller one` : '';
}

/** Names the file of a pack by the pack's name, or `pack.json` where it has none. */
export function fileName(text: string): string {
  try {
    const { name } = JSON.parse(text) as { name?: unknown };
    const plain = typeof name === 'string' ? name.trim().replace(/[^\p{L}\p{N}_-]+/gu, '_').replace(/^_+|_+$/g, '') : '';
    return `${plain || 'pack'}.json`;
  } catch {
    // A text that is no JSON is kept all the same.
    return 'pack.json';
  }
}
