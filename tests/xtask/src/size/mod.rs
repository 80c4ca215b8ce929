//! The sizes of what users download or deploy, and their budgets.

mod first_load;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::page;
use crate::project::Project;
use crate::wasm::{self, Module};

const PAGE: &str = "cargo xtask page";
const SERVER: &str = "cargo build --release --package convengine-server";

struct Figure {
    /// The name in the budget file.
    key: &'static str,
    label: &'static str,
    /// The command that builds what is measured.
    build_command: &'static str,
    bytes: Option<usize>,
}

/// Builds the page as it is published, prints all figures, and fails if one is above its budget.
pub fn check_all(project: &Project) -> Result<()> {
    page::build(project)?;
    let mut figures = page_figures(project)?;
    let server = fs::metadata(project.target.join("release/convengine")).ok();
    let bytes = server.and_then(|file| file.len().try_into().ok());
    figures.push(figure("server_bytes", "server, release", SERVER, bytes));
    print_and_check(project, &figures)
}

/// Returns the compressed size of the engine; `None` if it is not built.
pub fn engine_brotli(project: &Project) -> Result<Option<u64>> {
    let module = wasm::module_path(project, Module::Engine);
    Ok(total_brotli(module.is_file().then_some(&module))?.map(u64::try_from).transpose()?)
}

/// Returns a line for each count that is above its limit in the budget file.
pub fn find_exceeded(project: &Project, counts: &[(&'static str, Option<u64>)]) -> Result<Vec<String>> {
    let limits = read_limits(&project.root.join("tests/budget.txt"))?;
    let count = |count: Option<u64>| count.and_then(|number| usize::try_from(number).ok());
    Ok(counts.iter().filter_map(|entry| describe_excess(&figure(entry.0, "", "cargo xtask bench", count(entry.1)), &limits)).collect())
}

fn figure(key: &'static str, what: &'static str, made_by: &'static str, bytes: Option<usize>) -> Figure {
    Figure { key, label: what, build_command: made_by, bytes }
}

fn page_figures(project: &Project) -> Result<Vec<Figure>> {
    let files = files_below(&page::folder(project)).unwrap_or_default();
    let page = |ending| total_brotli(with_ending(&files, ending));
    let mut figures = Vec::new();
    for (module, [raw, gzip, brotli], labels) in [
        (
            Module::Engine,
            ["engine_raw_bytes", "engine_gzip_bytes", "engine_brotli_bytes"],
            ["engine, raw", "engine, gzip", "engine, brotli"],
        ),
        (Module::Lint, ["lint_raw_bytes", "lint_gzip_bytes", "lint_brotli_bytes"], ["lint, raw", "lint, gzip", "lint, brotli"]),
    ] {
        let file = wasm::module_path(project, module);
        let length = fs::metadata(&file).ok().map(|metadata| metadata.len().try_into()).transpose()?;
        let compressed = if file.is_file() { compress(&[file])?.pop() } else { None };
        figures.extend([
            figure(raw, labels[0], PAGE, length),
            figure(gzip, labels[1], PAGE, compressed.map(|it| it.gzip)),
            figure(brotli, labels[2], PAGE, compressed.map(|it| it.brotli)),
        ]);
    }
    figures.extend([
        figure("page_js_brotli_bytes", "page scripts, brotli", PAGE, page("js")?),
        figure("page_css_brotli_bytes", "page styles, brotli", PAGE, page("css")?),
        figure("page_html_brotli_bytes", "page documents, brotli", PAGE, page("html")?),
    ]);
    figures.extend(first_load::measure(project, &files)?);
    Ok(figures)
}

fn print_and_check(project: &Project, figures: &[Figure]) -> Result<()> {
    let limits = read_limits(&project.root.join("tests/budget.txt"))?;
    println!("{:<32}{:>12}{:>12}", "what", "bytes", "limit");
    for figure in figures {
        let bytes = figure.bytes.map_or("not built".to_owned(), |bytes| bytes.to_string());
        let limit = limits.get(figure.key).map_or("-".to_owned(), usize::to_string);
        println!("{:<32}{bytes:>12}{limit:>12}", figure.label);
    }
    let broken: Vec<String> = figures.iter().filter_map(|figure| describe_excess(figure, &limits)).collect();
    if !broken.is_empty() {
        bail!("{}", broken.join("; "));
    }
    Ok(())
}

fn describe_excess(figure: &Figure, limits: &BTreeMap<String, usize>) -> Option<String> {
    let limit = *limits.get(figure.key)?;
    let Some(bytes) = figure.bytes else {
        return Some(format!("'{}' cannot be measured; run `{}`", figure.key, figure.build_command));
    };
    (bytes > limit).then(|| format!("'{}' is {} above its limit", figure.key, bytes - limit))
}

/// Reads `key = value` lines; a missing file sets no limits.
fn read_limits(path: &Path) -> Result<BTreeMap<String, usize>> {
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    parse_limits(&fs::read_to_string(path)?).with_context(|| format!("cannot read '{}'", path.display()))
}

fn parse_limits(text: &str) -> Result<BTreeMap<String, usize>> {
    let mut limits = BTreeMap::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let (key, value) = line.split_once('=').with_context(|| format!("no '=' in '{line}'"))?;
        let value = value.trim().replace('_', "");
        let value = value.parse().with_context(|| format!("no integer in '{line}'"))?;
        limits.insert(key.trim().to_owned(), value);
    }
    Ok(limits)
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}

fn with_ending<'f>(files: &'f [PathBuf], ending: &str) -> impl Iterator<Item = &'f PathBuf> {
    files.iter().filter(move |file| file.extension().is_some_and(|found| found == ending))
}

/// Prints the compressed sizes of a JSON array of files, as the page's build compresses them: gzip and brotli, a pair a file.
const COMPRESS: &str = "
const { readFileSync } = require('node:fs');
const { brotliCompressSync, constants, gzipSync } = require('node:zlib');
const sizes = JSON.parse(readFileSync(0, 'utf8')).map((file) => {
  const bytes = readFileSync(file);
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length, [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS };
  return [gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION }).length, brotliCompressSync(bytes, { params }).length];
});
console.log(JSON.stringify(sizes));
";

/// The compressed size of a file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Compressed {
    gzip: usize,
    brotli: usize,
}

/// Returns the compressed sizes of files.
fn compress(files: &[PathBuf]) -> Result<Vec<Compressed>> {
    let mut node =
        Command::new("node").args(["-e", COMPRESS]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start node")?;
    let mut input = node.stdin.take().context("node has no input")?;
    input.write_all(serde_json::to_string(files)?.as_bytes())?;
    drop(input);
    let output = node.wait_with_output()?;
    ensure!(output.status.success(), "node cannot compress the files");
    let sizes: Vec<(usize, usize)> = serde_json::from_slice(&output.stdout)?;
    Ok(sizes.into_iter().map(|(gzip, brotli)| Compressed { gzip, brotli }).collect())
}

/// Returns the sum of the files' sizes in brotli; `None` without a file.
fn total_brotli<'f>(files: impl IntoIterator<Item = &'f PathBuf>) -> Result<Option<usize>> {
    let files: Vec<PathBuf> = files.into_iter().cloned().collect();
    if files.is_empty() {
        return Ok(None);
    }
    Ok(Some(compress(&files)?.iter().map(|it| it.brotli).sum()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{PAGE, compress, describe_excess, figure, files_below, parse_limits, total_brotli, with_ending};

    #[test]
    fn reads_limits_and_skips_comments() {
        let limits = parse_limits("# the page\nengine_brotli_bytes = 665_600 # limit\n\n").unwrap();
        assert_eq!(limits.into_iter().collect::<Vec<_>>(), [("engine_brotli_bytes".to_owned(), 665_600)]);
    }

    #[test]
    fn names_the_line_it_cannot_read() {
        let error = parse_limits("engine_brotli_bytes = 650 KB").unwrap_err();
        assert_eq!(error.to_string(), "no integer in 'engine_brotli_bytes = 650 KB'");
    }

    #[test]
    fn a_figure_above_its_limit_and_one_not_measured_fail() {
        let limits = parse_limits("engine_raw_bytes = 10").unwrap();
        let verdict = |key, bytes| describe_excess(&figure(key, "", PAGE, bytes), &limits);
        assert_eq!(verdict("engine_raw_bytes", Some(10)), None);
        assert_eq!(verdict("engine_raw_bytes", Some(13)).unwrap(), "'engine_raw_bytes' is 3 above its limit");
        assert!(verdict("engine_raw_bytes", None).unwrap().ends_with("run `cargo xtask page`"));
        assert_eq!(verdict("server_bytes", Some(13)), None);
    }

    #[test]
    fn compressed_copies_of_a_file_are_not_counted() {
        let folder = std::env::temp_dir().join(format!("convengine-size-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for name in ["a.js", "a.js.br", "a.js.gz"] {
            fs::write(folder.join(name), "again ".repeat(1000)).unwrap();
        }
        let files = files_below(&folder).unwrap();
        let found = total_brotli(with_ending(&files, "js")).unwrap();
        let alone = compress(&[folder.join("a.js")]).unwrap()[0];
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!((files.len(), found), (3, Some(alone.brotli)));
        assert!(alone.brotli < 100 && alone.gzip < 100, "{alone:?}");
    }
}
