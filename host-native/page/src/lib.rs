//! The files of the page, embedded in the program. Serving them is left to `convengine-host`.

use std::borrow::Cow;

use rust_embed::Embed;

/// The files of the page: those of its folder in a debug build, and in an optimized one those that `build.rs` has chosen to embed.
#[derive(Embed)]
#[cfg_attr(debug_assertions, folder = "../../web-demo/dist")]
#[cfg_attr(not(debug_assertions), folder = "$OUT_DIR/page")]
#[allow_missing = true]
struct Page;

/// A file of the page.
#[derive(Debug)]
pub struct PageFile {
    /// Its bytes.
    pub content: Content,
    /// The SHA-256 hash of its embedded form.
    pub digest: [u8; 32],
}

/// The bytes of a file.
#[derive(Debug)]
pub enum Content {
    /// As they are.
    Plain(Cow<'static, [u8]>),
    /// The file itself is not embedded, only its form in brotli.
    Brotli(Cow<'static, [u8]>),
}

impl Content {
    /// Returns the file itself; an empty one if it cannot be decompressed.
    pub fn into_plain(self) -> Cow<'static, [u8]> {
        let compressed = match self {
            Content::Plain(bytes) => return bytes,
            Content::Brotli(bytes) => bytes,
        };
        let mut plain = Vec::new();
        if let Err(error) = brotli_decompressor::BrotliDecompress(&mut &*compressed, &mut plain) {
            tracing::error!("a file of the page cannot be decompressed: {error}");
        }
        plain.into()
    }
}

/// Returns the bytes of a file of the page; `None` if this build does not have it.
pub fn read_file(path: &str) -> Option<Cow<'static, [u8]>> {
    load_file(path).map(|it| it.content.into_plain())
}

/// Returns a file of the page; `None` if this build does not have it.
pub fn load_file(path: &str) -> Option<PageFile> {
    let plain = Page::get(path).map(|file| (file.metadata.sha256_hash(), Content::Plain(file.data)));
    let compressed = || Page::get(&format!("{path}.br")).map(|file| (file.metadata.sha256_hash(), Content::Brotli(file.data)));
    plain.or_else(compressed).map(|(digest, content)| PageFile { content, digest })
}
