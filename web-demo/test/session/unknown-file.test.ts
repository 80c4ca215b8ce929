import { describe, expect, it } from 'vitest';
import { describeUnknownFile } from '../../src/session/unknown-file';

describe('a file that cannot be opened', () => {
  it.each([
    ['nlu.yml', 'version: "3.1"\nnlu:\n- intent: greet\n  examples: |\n    - hello\n', 'Rasa'],
    ['config.yml', 'language: en\npipeline:\n- name: WhitespaceTokenizer\npolicies:\n- name: RulePolicy\n', 'Rasa'],
    ['nlu.json', '{"rasa_nlu_data": {"common_examples": []}}', 'Rasa'],
    ['greet.json', '{"id": "1", "name": "greet", "fallbackIntent": false, "webhookUsed": false, "responses": []}', 'Dialogflow'],
    ['greet_usersays_en.json', '[{"id": "1", "data": [{"text": "hi", "userDefined": false}], "isTemplate": false}]', 'Dialogflow'],
    ['agent.json', '{"displayName": "shop", "defaultLanguageCode": "en"}', 'Dialogflow'],
    ['main.flow.json', '{"version": "0.0.1", "startNode": "entry", "nodes": []}', 'Botpress'],
    ['root.dialog', '{"$kind": "Microsoft.AdaptiveDialog"}', 'Bot Framework'],
    ['greeting.lu', '# Greeting\n- hi\n', 'Bot Framework'],
    ['luis.json', '{"luis_schema_version": "7.0.0", "intents": []}', 'Bot Framework'],
    ['topic.mcs.yml', 'kind: AdaptiveDialog\nbeginDialog:\n  kind: OnRecognizedIntent\n', 'Copilot Studio'],
  ])('%s is told by its builder', (name, text, builder) => {
    expect(describeUnknownFile(name, text)).toMatch(new RegExp(`^'${name}' is a file of ${builder}, which is not read yet: choose a pack`));
  });

  it.each(['notes.txt', 'compose.yml', 'data.json', ''])("'%s' is told what can be opened", (name) => {
    const text = name === 'data.json' ? '{"a": 1}' : 'version: "3"\nservices:\n  web: {}\n';
    expect(describeUnknownFile(name, text)).toMatch(/^('.+'|the text) is of no kind that can be opened: choose a pack or a document/);
  });

  it('is unpacked if it is an archive', () => {
    expect(describeUnknownFile('agent.zip', 'PK\u0003\u0004')).toContain('unpack it');
  });

  it('is not told from a broken file of our own', () => {
    expect(describeUnknownFile('p.json', '{"tables": 5, "trainingPhrases": []}')).toContain('of no kind');
  });
});
