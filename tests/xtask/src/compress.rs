//! Compresses files of the page that its own build does not make.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::project::Project;
use crate::sh;
use crate::wasm::Purpose;

/// Compresses files, as the page's build does with others. Its arguments are the quality of brotli, the level of gzip, and the files.
pub const SCRIPT: &str = "
const { readFileSync, writeFileSync } = require('node:fs');
const { brotliCompressSync, constants, gzipSync } = require('node:zlib');
const [quality, level, ...files] = process.argv.slice(1);
for (const file of files) {
  const bytes = readFileSync(file);
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: Number(quality),
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
  };
  writeFileSync(file + '.br', brotliCompressSync(bytes, { params }));
  writeFileSync(file + '.gz', gzipSync(bytes, { level: Number(level) }));
}
";

/// The quality of brotli and the level of gzip: the best, or those for a page that only this machine uses.
const BEST: [&str; 2] = ["11", "9"];
const QUICK: [&str; 2] = ["4", "1"];

/// Endings of files that are not compressed already.
const TEXT_ENDINGS: [&str; 6] = ["css", "html", "js", "md", "svg", "txt"];

/// Writes the compressed forms of a file beside it.
pub fn compress_file(project: &Project, file: &Path) -> Result<()> {
    compress(project, BEST, &[file.to_path_buf()])
}

/// Writes the compressed forms of all texts in a folder beside them.
pub fn compress_below(project: &Project, folder: &Path, purpose: Purpose) -> Result<()> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    compress(project, if purpose == Purpose::Release { BEST } else { QUICK }, &files)
}

fn compress(project: &Project, levels: [&str; 2], files: &[PathBuf]) -> Result<()> {
    sh::run(project.command("node").args(["-e", SCRIPT, "--"]).args(levels).args(files))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read '{}'", folder.display()))? {
        let path = entry?.path();
        let is_text = path.extension().is_some_and(|it| TEXT_ENDINGS.iter().any(|ending| it == *ending));
        if path.is_dir() {
            collect(&path, files)?;
        } else if is_text {
            files.push(path);
        }
    }
    Ok(())
}
