/** Turns a talk and the configuration that it names into the pack that it stands for. */
import { parseSpans } from '../json-text';
import { replaceRange } from '../pack/layout';
import { addMember } from '../pack/rows';
import { checkJson } from './talk-check';
import type { ParsedTalk, TalkTurn } from './talk-reader';

/** Lists the labels of the conversations of a talk. */
export function talkLabels({ turns }: ParsedTalk): string[] {
  return [...new Set(turns.map((it) => it.conversation))];
}

/** Builds the pack: the configuration with the settings and turns of the talk. The rest of its text stays as it is. */
export function talkPack(talk: ParsedTalk, config: string, ids: Map<string, string>): string {
  const turns = talk.turns.map((it) => `    ${turnJson(it, ids.get(it.conversation) ?? '')}`);
  let pack = setMember(config, ['turns'], `[\n${turns.join(',\n')}\n  ]`);
  for (const [key, json] of talk.settings) pack = setMember(pack, ['settings', ...key.split('.')], json);
  return talk.name ? setMember(pack, ['name'], JSON.stringify(talk.name)) : pack;
}

function turnJson({ line, conversation, at, path, body, answers, checks }: TalkTurn, id: string): string {
  const request = `{"method":"POST","path":${JSON.stringify(path ?? '/api/v1/conversation/message')},"body":${path === undefined ? withId(body, id) : body}}`;
  const more = [answers.length > 0 && `"answers":[${answers.join(',')}]`, `"checks":[${checks.map(checkJson).join(',')}]`].filter(Boolean);
  return `{"conversation":${JSON.stringify(conversation)},"line":${line},"at":${at},"request":${request},${more.join(',')}}`;
}

/** Adds the conversation id to a body that has none. */
function withId(body: string, id: string): string {
  const root = parseSpans(body);
  return root.members?.has('conversationId') ? body : addMember(body, root, 'conversationId', JSON.stringify(id));
}

/** Sets a member of an object in a JSON text, and creates the objects around it. Names match in kebab case and in camel case. */
function setMember(text: string, path: string[], json: string): string {
  let object = parseSpans(text);
  for (const [index, name] of path.entries()) {
    const key = [...(object.members?.keys() ?? [])].find((it) => plain(it) === plain(name));
    const found = key === undefined ? undefined : object.members?.get(key);
    const rest = path.slice(index + 1);
    if (!found) return addMember(text, object, name, rest.reduceRight((inner, it) => `{${JSON.stringify(it)}:${inner}}`, json));
    if (rest.length === 0) return replaceRange(text, found.start, found.end, json);
    if (!found.members) return replaceRange(text, found.start, found.end, rest.reduceRight((inner, it) => `{${JSON.stringify(it)}:${inner}}`, json));
    object = found;
  }
  return text;
}

function plain(name: string): string {
  return name.replaceAll('-', '').toLowerCase();
}
