/// <reference types="vitest/config" />
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin } from 'vite';

const POLICY =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; " +
  "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'";

/**
 * Packs are untrusted: the built page may load and contact only its own files. The page's policy does not apply to the engine's worker,
 * which makes the live calls of models and services.
 */
function contentPolicy(): Plugin {
  return {
    name: 'content-policy',
    apply: 'build',
    transformIndexHtml: () => [
      { tag: 'meta', attrs: { 'http-equiv': 'Content-Security-Policy', content: POLICY }, injectTo: 'head-prepend' },
    ],
  };
}

/** The script interpreter: as large as all other files together, and only loaded by packs with scripts. */
const INTERPRETER = 'python.wasm';

/** Compiles the service worker, and injects the content hashes of the build's files into it. */
function offline(): Plugin {
  let folder = '';
  return {
    name: 'offline',
    apply: 'build',
    configResolved: ({ root, build }) => {
      folder = join(root, build.outDir);
    },
    buildStart() {
      // The name has no hash: the browser compares the script with the installed one.
      this.emitFile({ type: 'chunk', id: fileURLToPath(new URL('./src/sw.ts', import.meta.url)), fileName: 'sw.js' });
    },
    // After all files have been written or copied, and before they are compressed.
    closeBundle: {
      order: 'post',
      sequential: true,
      handler(error) {
        if (error) return;
        const script = join(folder, 'sw.js');
        const found = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((it) => it.replaceAll('\\', '/')).sort();
        const files = found.filter((it) => it !== 'sw.js' && (it === INTERPRETER || !it.startsWith(INTERPRETER)) && statSync(join(folder, it)).isFile());
        const list = JSON.stringify(files.map((it) => [it, sha256(readFileSync(join(folder, it)))]));
        const text = readFileSync(script, 'utf8').replaceAll('__FILES__', list).replaceAll('__BUILD__', JSON.stringify(sha256(list)));
        writeFileSync(script, text);
      },
    },
  };
}

function sha256(content: Buffer | string): string {
  return createHash('sha256').update(content).digest('base64');
}

/** Files worth compressing; images and fonts are compressed already. */
const COMPRESSIBLE = /\.(html|js|css|wasm|svg|json|webmanifest)$/;

/** How hard to compress: a build that only this machine uses (mode `quick`) takes the second of a fast level, not the minute of the best. */
function compressionLevels(mode: string): { brotli: number; gzip: number } {
  const { BROTLI_MAX_QUALITY, Z_BEST_COMPRESSION, Z_BEST_SPEED } = constants;
  return mode === 'quick' ? { brotli: 4, gzip: Z_BEST_SPEED } : { brotli: BROTLI_MAX_QUALITY, gzip: Z_BEST_COMPRESSION };
}

/** The compressed forms of a file, by file name suffix. */
function compressed(bytes: Buffer, levels: { brotli: number; gzip: number }): [string, Buffer][] {
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN, BROTLI_MAX_WINDOW_BITS, BROTLI_PARAM_SIZE_HINT } = constants;
  const params = {
    [BROTLI_PARAM_QUALITY]: levels.brotli,
    [BROTLI_PARAM_LGWIN]: BROTLI_MAX_WINDOW_BITS,
    [BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  return [
    ['.br', brotliCompressSync(bytes, { params })],
    ['.gz', gzipSync(bytes, { level: levels.gzip })],
  ];
}

/** Compresses files at build time, so that servers can send them precompressed. */
function compressedAhead(): Plugin {
  let folder = '';
  let levels = compressionLevels('production');
  return {
    name: 'compressed-ahead',
    apply: 'build',
    configResolved: ({ root, build, mode }) => {
      folder = join(root, build.outDir);
      levels = compressionLevels(mode);
    },
    // After all files have been written or copied.
    closeBundle: {
      order: 'post',
      sequential: true,
      handler(error) {
        if (error) return;
        const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
        // The interpreter comes with its compressed forms.
        const plain = files.filter((it) => COMPRESSIBLE.test(it) && !it.startsWith(INTERPRETER));
        for (const file of plain.map((it) => join(folder, it))) {
          const bytes = readFileSync(file);
          const shorter = compressed(bytes, levels).filter(([, it]) => it.length < bytes.length);
          for (const [ending, it] of shorter) writeFileSync(file + ending, it);
        }
      },
    },
  };
}

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

const NO_ENGINE = path('./test/no-engine.ts');

/** Names the WebAssembly modules by what they are: `engine` or `lint`. */
function assetFileNames({ originalFileNames: [file = ''] }: { originalFileNames: string[] }): string {
  const module = /wasm(?:-(\w+))?\/convengine_wasm_bg\.wasm$/.exec(file);
  return `assets/${module ? (module[1] ?? 'engine') : '[name]'}-[hash][extname]`;
}

export default defineConfig({
  base: './',
  plugins: [svelte({ configFile: false }), contentPolicy(), offline(), compressedAhead()],
  resolve: {
    // As in `tsconfig.json`, except for the declarations of `package.d.ts`.
    alias: [
      { find: /^convengine-wasm$/, replacement: path('./src/wasm/convengine_wasm.js') },
      { find: /^convengine-wasm-lint$/, replacement: path('./src/wasm-lint/convengine_wasm.js') },
      { find: /^convengine\/turn-runner$/, replacement: path('../host-wasm/npm/turn-runner.js') },
    ],
  },
  // These tests use a fake, so that they need no build.
  test: { alias: { 'convengine-wasm-lint': `${NO_ENGINE}?lint`, 'convengine-wasm': NO_ENGINE } },
  worker: { format: 'es', rolldownOptions: { output: { assetFileNames } } },
  server: { fs: { allow: ['..'] } },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: { input: [path('./index.html'), path('./desk.html')], output: { chunkFileNames: 'assets/[name]-[hash].js', assetFileNames } },
  },
});
