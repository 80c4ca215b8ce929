/**
 * Says of a file that nothing here reads what can be read instead, and which other builder it is from.
 *
 * The engine has the same marks for its commands: `core/pack/src/foreign.rs`.
 */

/** The builders and marks of their JSON files: members of which a file has all of one line. */
const JSON_MARKS: [builder: string, ...members: string[]][] = [
  ['Rasa', 'rasa_nlu_data'],
  ['Rasa', 'version', 'nlu'],
  ['Rasa', 'version', 'stories'],
  ['Dialogflow', 'fallbackIntent'],
  ['Dialogflow', 'webhookUsed'],
  ['Dialogflow', 'mlMinConfidence'],
  ['Dialogflow', 'isOverridable'],
  ['Dialogflow', 'defaultLanguageCode'],
  ['Dialogflow', 'trainingPhrases'],
  ['Dialogflow', 'transitionRoutes'],
  ['Dialogflow', 'isTemplate', 'data'],
  ['Botpress', 'startNode', 'nodes'],
  ['Bot Framework', 'luis_schema_version'],
];

/** Kinds of the components of Copilot Studio. */
const COPILOT_KINDS = /^(AdaptiveDialog|BotDefinition|GptComponentMetadata)$/;

/** Members of packs and documents: a file with one of them is ours, if a broken one. */
const OUR_MEMBERS = ['doc', 'tables', 'documents', 'turns', 'stages'];

const READ = 'choose a pack or a document (.json), a talk (.talk), journals, an audit trail or a trace (.json), or an SQL dump (.sql)';

/** Why a file cannot be opened, by its name, which may be empty, and its text. */
export function describeUnknownFile(name: string, text: string): string {
  const file = name === '' ? 'the text' : `'${name}'`;
  if (text.startsWith('PK\u0003\u0004')) return `${file} is an archive: unpack it, and ${READ}`;
  const builder = findBuilder(name, text);
  return builder === undefined ? `${file} is of no kind that can be opened: ${READ}` : `${file} is a file of ${builder}, which is not read yet: ${READ}`;
}

/** The other builder that a file is from, by its name and its text; undefined if it is not known. */
export function findBuilder(name: string, text: string): string | undefined {
  if (/\.(lu|lg|qna|dialog)$/i.test(name)) return 'Bot Framework';
  try {
    return builderOfJson(JSON.parse(text));
  } catch {
    return builderOfYaml(text);
  }
}

function builderOfJson(value: unknown): string | undefined {
  const item: unknown = Array.isArray(value) ? value[0] : value;
  if (typeof item !== 'object' || item === null || OUR_MEMBERS.some((it) => it in item)) return undefined;
  const text = (member: string) => String((item as Record<string, unknown>)[member] ?? '');
  if (text('$kind').startsWith('Microsoft.')) return 'Bot Framework';
  if (COPILOT_KINDS.test(text('kind'))) return 'Copilot Studio';
  if (text('$schema').includes('botpress')) return 'Botpress';
  return JSON_MARKS.find(([, ...members]) => members.every((it) => it in item))?.[0];
}

function builderOfYaml(text: string): string | undefined {
  const keys = new Map([...text.matchAll(/^(\w+):[ \t]*(.*)$/gm)].map(([, key, value]) => [key, value?.trim()]));
  if (COPILOT_KINDS.test(keys.get('kind') ?? '')) return 'Copilot Studio';
  const isTraining = keys.has('version') && ['nlu', 'stories', 'rules', 'responses', 'intents', 'slots'].some((it) => keys.has(it));
  return isTraining || (keys.has('pipeline') && keys.has('policies')) ? 'Rasa' : undefined;
}
