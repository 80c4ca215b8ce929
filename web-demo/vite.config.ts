import { fileURLToPath } from 'node:url';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin } from 'vite';

const POLICY =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; " +
  "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'";

/**
 * Pack text is foreign text: the built page may load and contact nothing but its own files. The engine's worker, which shows nothing,
 * is not bound by the policy of the page; it alone calls the models and services of a live chat.
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

export default defineConfig({
  base: './',
  plugins: [svelte({ configFile: false }), contentPolicy()],
  resolve: {
    // The engine is compiled after the types are checked, so it is imported by a name that `engine.d.ts` declares.
    alias: { 'convengine-wasm': fileURLToPath(new URL('./src/wasm/convengine_wasm.js', import.meta.url)) },
  },
  worker: { format: 'es' },
  server: { fs: { allow: ['..'] } },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: { output: { chunkFileNames: 'assets/[name]-[hash].js' } },
  },
});
