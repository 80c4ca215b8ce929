import { describe, expect, it } from 'vitest';
import { SecretRedactor } from '../src/effects/secrets';

describe('a secret', () => {
  it('is redacted in every encoding', () => {
    const secrets = new SecretRedactor([
      { name: 'crm', value: 'sk-1/2&<3>_4"\'é?>~' },
      { name: 'longer', value: 'sk-1/2&<3>_4"\'é?>~-and-more' },
      { name: 'empty', value: '' },
    ]);
    const plain = 'sk-1/2&<3>_4"\'é?>~';
    const json = JSON.stringify(plain).slice(1, -1);
    const spellings = [
      plain,
      json,
      json.replace('/', '\\/'),
      json.replace('&', '\\u0026').replace('<', '\\u003c').replaceAll('>', '\\u003e'),
      encodeURIComponent(plain),
      encodeURIComponent(plain).toLowerCase(),
      'sk-1%2F2%26%3C3%3E_4%22%27%C3%A9%3F%3E~',
      'sk%2D1%2F2%26%3C3%3E%5F4%22%27%C3%A9%3F%3E%7E',
      'c2stMS8yJjwzPl80IifDqT8+fg==',
      'c2stMS8yJjwzPl80IifDqT8+fg',
      'c2stMS8yJjwzPl80IifDqT8-fg',
    ];
    for (const spelling of spellings) expect(secrets.redact(`x ${spelling} y`), spelling).toBe('x [secret:crm] y');
    expect(secrets.redact(`${plain}-and-more`)).toBe('[secret:longer]');
    expect(new SecretRedactor([]).redact('nothing')).toBe('nothing');
  });

  it('is redacted however it is escaped', () => {
    const value = `Kq+w/e&r<t>"y'u=12 34==`;
    const secrets = new SecretRedactor([{ name: 'crm', value }]);
    const once = JSON.stringify(value);
    const every = value.replace(/./g, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, '0')}`);
    for (const echoed of [
      String.raw`Kq+w/e\u0026r\u003ct\u003e\u0022y\u0027u\u003d12 34\u003d\u003d`,
      String.raw`Kq\u002Bw/e\u0026r\u003Ct\u003E\u0022y\u0027u=12 34==`,
      every,
      JSON.stringify({ body: once }),
      JSON.stringify([JSON.stringify({ body: once })]),
      'Kq%2Bw%2Fe%26r%3Ct%3E%22y%27u%3D12+34%3D%3D',
      'Kq+w/e&amp;r&lt;t&gt;&quot;y&#39;u=12 34==',
      btoa(`Bearer ${value}`),
      btoa(`user:${value}, and more`),
    ]) {
      const scrubbed = secrets.redact(`\\"${echoed}\\n`);
      expect(scrubbed, echoed).toContain('[secret:crm]');
      expect(scrubbed, echoed).not.toMatch(/12 34|u003d|MTIgMzQ/);
    }
    const harmless = String.raw`{"a": "C:\\temp\u0021", "b": "\ud83d\ude00 \x", "c": "\u00"}`;
    expect(secrets.redact(harmless)).toBe(harmless);
    const context = String.raw`{"n": 1.50, "k": "\u004bq+w/e&r<t>\"y'u=12 34==\u00e9"}`;
    expect(secrets.redact(context)).toBe(String.raw`{"n": 1.50, "k": "[secret:crm]\u00e9"}`);
  });

  it('is redacted however a text is split', () => {
    const secrets = new SecretRedactor([
      { name: 'key', value: 'sk-12345' },
      { name: 'short', value: 'ab12' },
      { name: 'long', value: 'ab12é34cd' },
    ]);
    expect(['a task', 'a risk-2', 'sk-1', 'sk-12345'].map((it) => secrets.safeLength(it))).toEqual([4, 8, 0, 8]);
    expect(new SecretRedactor([]).safeLength('all of it')).toBe(9);
    const text = 'xab12é34cdab1ab12ééab12é34cab12y';
    for (let size = 1; size <= text.length; size++) {
      let [shown, held] = ['', ''];
      for (let at = 0; at < text.length; at += size) {
        held += text.slice(at, at + size);
        const end = secrets.safeLength(held);
        shown += secrets.redact(held.slice(0, end));
        held = held.slice(end);
      }
      expect(shown + secrets.redact(held), `${size}`).toBe(secrets.redact(text));
    }
  });
});
