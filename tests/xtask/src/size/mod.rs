//! The sizes of what users download or deploy, and their budgets.

mod first_load;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use brotli::enc::BrotliEncoderParams;
use flate2::Compression;
use flate2::write::GzEncoder;

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

/// Prints all figures and fails if one is above its budget.
pub fn check_all(project: &Project) -> Result<()> {
    let mut figures = page_figures(project)?;
    let server = fs::metadata(project.target.join("release/convengine")).ok();
    let bytes = server.and_then(|file| file.len().try_into().ok());
    figures.push(figure("server_bytes", "server, release", SERVER, bytes));
    print_and_check(project, &figures)
}

/// Prints the figures of the engine and the page, and fails if one is above its budget.
pub fn check_page(project: &Project) -> Result<()> {
    print_and_check(project, &page_figures(project)?)
}

/// Returns the compressed size of the engine; `None` if the page is not built with it.
pub fn engine_brotli(project: &Project) -> Result<Option<u64>> {
    let Ok(engine) = fs::read(wasm::module_path(project, Module::Engine)) else { return Ok(None) };
    let files = files_below(&page::folder(project)).unwrap_or_default();
    Ok(served_brotli(&engine, &files)?.map(u64::try_from).transpose()?)
}

/// Returns a line for each count that is above its limit in the budget file.
pub fn find_exceeded(project: &Project, counts: &[(&'static str, Option<u64>)]) -> Result<Vec<String>> {
    let limits = read_limits(&project.root.join("tests/budget.txt"))?;
    let count = |it: Option<u64>| it.and_then(|it| usize::try_from(it).ok());
    Ok(counts.iter().filter_map(|it| describe_excess(&figure(it.0, "", "cargo xtask bench", count(it.1)), &limits)).collect())
}

fn figure(key: &'static str, what: &'static str, made_by: &'static str, bytes: Option<usize>) -> Figure {
    Figure { key, label: what, build_command: made_by, bytes }
}

fn page_figures(project: &Project) -> Result<Vec<Figure>> {
    let [engine, lint] = Module::ALL.map(|it| fs::read(wasm::module_path(project, it)).ok());
    let (engine, lint) = (engine.as_deref(), lint.as_deref());
    let files = files_below(&page::folder(project)).unwrap_or_default();
    let page = |ending| total_brotli(&files, ending);
    let served = |engine: Option<&[u8]>| engine.map_or(Ok(None), |it| served_brotli(it, &files));
    let mut figures = vec![
        figure("engine_raw_bytes", "engine, raw", PAGE, engine.map(<[u8]>::len)),
        figure("engine_gzip_bytes", "engine, gzip", PAGE, engine.map(gzip).transpose()?),
        figure("engine_brotli_bytes", "engine, brotli", PAGE, served(engine)?),
        figure("lint_brotli_bytes", "lint, brotli", PAGE, served(lint)?),
        figure("page_js_brotli_bytes", "page scripts, brotli", PAGE, page("js")?),
        figure("page_css_brotli_bytes", "page styles, brotli", PAGE, page("css")?),
        figure("page_html_brotli_bytes", "page documents, brotli", PAGE, page("html")?),
    ];
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

fn total_brotli(files: &[PathBuf], ending: &str) -> Result<Option<usize>> {
    let mut total = None;
    for file in files.iter().filter(|file| file.extension().is_some_and(|found| found == ending)) {
        total = Some(total.unwrap_or(0) + brotli(&fs::read(file)?)?);
    }
    Ok(total)
}

/// The size of the compressed file that the page is served with for a module; `None` when the page has not got the module.
fn served_brotli(module: &[u8], files: &[PathBuf]) -> Result<Option<usize>> {
    for file in files.iter().filter(|it| it.extension().is_some_and(|found| found == "wasm")) {
        if fs::read(file)? == module {
            return Ok(Some(fs::metadata(file.with_extension("wasm.br"))?.len().try_into()?));
        }
    }
    Ok(None)
}

fn gzip(bytes: &[u8]) -> Result<usize> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.len())
}

fn brotli(mut bytes: &[u8]) -> Result<usize> {
    let best = BrotliEncoderParams { size_hint: bytes.len(), ..BrotliEncoderParams::default() };
    let mut compressed = Vec::new();
    brotli::BrotliCompress(&mut bytes, &mut compressed, &best)?;
    Ok(compressed.len())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{PAGE, brotli, describe_excess, figure, files_below, gzip, parse_limits, total_brotli};

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
            fs::write(folder.join(name), "a".repeat(1000)).unwrap();
        }
        let files = files_below(&folder).unwrap();
        let found = total_brotli(&files, "js");
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!((files.len(), found.unwrap()), (3, Some(brotli("a".repeat(1000).as_bytes()).unwrap())));
    }

    #[test]
    fn compresses_repetitions() {
        let text = "again ".repeat(1000);
        assert!(gzip(text.as_bytes()).unwrap() < 100);
        assert!(brotli(text.as_bytes()).unwrap() < 100);
    }
}
