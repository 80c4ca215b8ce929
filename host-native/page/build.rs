//! Prepares the folder of the page, which may not be built yet.

use std::path::{Path, PathBuf};
use std::{env, fs};

const PAGE: &str = "../../web-demo/dist";

fn main() {
    // A debug build reads the page's files when they are requested, but finds none below a folder that was missing when it was compiled.
    fs::create_dir_all(PAGE).expect("the folder of the page can be created");
    if env::var_os("CARGO_CFG_DEBUG_ASSERTIONS").is_none() {
        println!("cargo:rerun-if-changed={PAGE}");
        let embedded = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets the folder of the output")).join("page");
        if embedded.exists() {
            fs::remove_dir_all(&embedded).expect("the folder of the embedded page can be emptied");
        }
        copy_smallest_forms(Path::new(PAGE), &embedded);
    }
}

/// Copies the files of the page: of one with compressed forms only that in brotli, from which a client that does not take it gets the file.
fn copy_smallest_forms(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the folder of the embedded page can be created");
    for entry in fs::read_dir(from).expect("the folder of the page can be read") {
        let path = entry.expect("the folder of the page can be read").path();
        let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
        let has_brotli = |name: &str| from.join(format!("{name}.br")).is_file();
        if path.is_dir() {
            copy_smallest_forms(&path, &to.join(name));
        } else if !has_brotli(&name) && !name.strip_suffix(".gz").is_some_and(has_brotli) {
            fs::copy(&path, to.join(name)).expect("a file of the page can be copied");
        }
    }
}
