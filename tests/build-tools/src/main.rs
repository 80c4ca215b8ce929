//! What `cargo xtask` does with libraries that take long to compile: it calls this program, which is compiled beside the server.

mod book;
mod dist;
mod licences;
mod meter;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use wasm_bindgen_cli_support::Bindgen;

const USAGE: &str = "\
usage: build-tools bind MODULE FOLDER     writes a module for browsers, and its JavaScript, into a folder
       build-tools meter MODULE PAGES     adds the meter to the interpreter of scripts, and limits its memory
       build-tools licences MANIFEST…     checks licences and sources of all dependencies of workspaces
       build-tools book SOURCES FOLDER    builds the book of the documentation into a folder
       build-tools dist FOLDER TARGET=PROGRAM=LIBRARIES…
                                          packs the built program of each target, and writes all packages into an empty folder
       build-tools checksums FOLDER       writes the checksums of all files of a folder";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["bind", module, folder] => bind(Path::new(module), Path::new(folder)),
        ["meter", module, pages] => add_meter(Path::new(module), pages),
        ["licences", manifests @ ..] if !manifests.is_empty() => licences::check(manifests),
        ["book", sources, folder] => book::build(Path::new(sources), Path::new(folder)),
        ["dist", folder, programs @ ..] if !programs.is_empty() => {
            dist::create_empty(Path::new(folder)).and_then(|()| dist::pack(Path::new(folder), programs))
        }
        ["checksums", folder] => dist::write_checksums(Path::new(folder)),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Writes `convengine_wasm_bg.wasm`, `convengine_wasm.js` and `convengine_wasm.d.ts`.
fn bind(module: &Path, folder: &Path) -> Result<()> {
    Bindgen::new()
        .input_path(module)
        .out_name("convengine_wasm")
        .web(true)?
        .omit_default_module_path(false)
        .typescript(true)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate(folder)
        .with_context(|| format!("cannot bind '{}' to JavaScript", module.display()))
}

fn add_meter(module: &Path, pages: &str) -> Result<()> {
    let bytes = fs::read(module).with_context(|| format!("cannot read '{}'", module.display()))?;
    let pages = pages.parse().with_context(|| format!("expected a number of pages, not '{pages}'"))?;
    fs::write(module, meter::add(&bytes, pages)?).with_context(|| format!("cannot write '{}'", module.display()))
}
