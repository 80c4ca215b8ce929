/** Adds rules to the scripted model of a pack and leaves all other text unchanged. */
import { parseSpans, type Span } from '../json-text';
import { insertFirst, commaGap, colonStyle, inlineStyle, objectText, replaceRange, readStyle, removePart } from './layout';
import { addMember } from './rows';

/** A rule of the scripted model: its replies to a message. */
export interface ScriptRule {
  purpose: string;
  /** The message; undefined for any. */
  userText: string | undefined;
  /** The replies in order; the last one repeats. */
  replies: string[];
}

/** Inserts a rule before all others, of which the first match answers; replaces a rule with the same conditions. */
export function addScriptRule(text: string, rule: ScriptRule): string {
  const root = parseSpans(text);
  if (!root.members) throw new Error('a pack must be a JSON object: write it as {…}');
  const list = root.members.get('llm');
  if (!list) return addScriptRule(addMember(text, root, 'llm', '[]'), rule);
  if (!list.elements) throw new Error("'llm' must be a list of rules: write it as […]");
  const same = list.elements.findIndex((it) => isSameRule(text, it, rule));
  if (same >= 0) return addScriptRule(removePart(text, list, list.elements, same), rule);
  const [first, second] = list.elements;
  const like = list.elements.find((it) => it.members?.size);
  const item = objectText(ruleMembers(rule), like ? readStyle(text, like) : inlineStyle(text));
  if (!first) return insertFirst(text, list, item);
  const comma = second ? text.slice(first.end, second.start) : `,${text.slice(list.start + 1, first.start) || commaGap(colonStyle(text))}`;
  return replaceRange(text, first.start, first.start, item + comma);
}

function ruleMembers({ purpose, userText, replies }: ScriptRule): [key: string, json: string][] {
  const replyTexts = replies.map(toJson);
  return [
    ['purpose', JSON.stringify(purpose)],
    ...(userText === undefined ? [] : [['user_text', JSON.stringify(userText)] as [string, string]]),
    replyTexts.length === 1 ? ['reply', replyTexts[0] ?? '""'] : ['replies', `[${replyTexts.join(', ')}]`],
  ];
}

/** Returns JSON unquoted if the engine writes it the same way. */
function toJson(text: string): string {
  try {
    const same = /^[[{]/.test(text) && JSON.stringify(JSON.parse(text)) === text;
    if (same && !/\d{16}|\d[eE]/.test(text)) return text;
  } catch {
    // Not JSON: a text.
  }
  return JSON.stringify(text);
}

/** Whether a rule has exactly the same conditions. */
function isSameRule(text: string, { members }: Span, { purpose, userText }: ScriptRule): boolean {
  const memberValue = (key: string) => {
    const span = members?.get(key);
    return span && (JSON.parse(text.slice(span.start, span.end)) as unknown);
  };
  const others = [...(members?.keys() ?? [])].filter((it) => !['purpose', 'user_text', 'reply', 'replies'].includes(it));
  return members !== undefined && others.length === 0 && memberValue('purpose') === purpose && memberValue('user_text') === userText;
}
