/** Adds to what the scripted model of a pack says, and leaves all other text as its author wrote it. */
import { spans, type Span } from '../json-text';
import { filled, gap, colon, inline, objectText, put, styleOf, without } from './layout';
import { addMember } from './rows';

/** A rule of the scripted model: what it says to a message, time after time. */
export interface ScriptRule {
  purpose: string;
  /** The message; nothing for any. */
  userText: string | undefined;
  /** What is said the first, second, … time; the last one is said again. */
  replies: string[];
}

/** Puts a rule before all others, of which the first that fits answers; a rule of the same kind for the same gives way to it. */
export function addScriptRule(text: string, rule: ScriptRule): string {
  const root = spans(text);
  if (!root.members) throw new Error('a pack is a JSON object: write it as {…}');
  const list = root.members.get('llm');
  if (!list) return addScriptRule(addMember(text, root, 'llm', '[]'), rule);
  if (!list.elements) throw new Error("'llm' is no list of rules: write it as […]");
  const same = list.elements.findIndex((it) => isFor(text, it, rule));
  if (same >= 0) return addScriptRule(without(text, list, list.elements, same), rule);
  const [first, second] = list.elements;
  const like = list.elements.find((it) => it.members?.size);
  const item = objectText(membersOf(rule), like ? styleOf(text, like) : inline(text));
  if (!first) return filled(text, list, item);
  const comma = second ? text.slice(first.end, second.start) : `,${text.slice(list.start + 1, first.start) || gap(colon(text))}`;
  return put(text, first.start, first.start, item + comma);
}

function membersOf({ purpose, userText, replies }: ScriptRule): [key: string, json: string][] {
  const said = replies.map(jsonOf);
  return [
    ['purpose', JSON.stringify(purpose)],
    ...(userText === undefined ? [] : [['user_text', JSON.stringify(userText)] as [string, string]]),
    said.length === 1 ? ['reply', said[0] ?? '""'] : ['replies', `[${said.join(', ')}]`],
  ];
}

/** JSON stands as it is where the engine writes it out the same way. */
function jsonOf(text: string): string {
  try {
    const same = /^[[{]/.test(text) && JSON.stringify(JSON.parse(text)) === text;
    if (same && !/\d{16}|\d[eE]/.test(text)) return text;
  } catch {
    // What is no JSON is a text.
  }
  return JSON.stringify(text);
}

/** Whether a rule asks for the same and for nothing else. */
function isFor(text: string, { members }: Span, { purpose, userText }: ScriptRule): boolean {
  const said = (key: string) => {
    const span = members?.get(key);
    return span && (JSON.parse(text.slice(span.start, span.end)) as unknown);
  };
  const others = [...(members?.keys() ?? [])].filter((it) => !['purpose', 'user_text', 'reply', 'replies'].includes(it));
  return members !== undefined && others.length === 0 && said('purpose') === purpose && said('user_text') === userText;
}
