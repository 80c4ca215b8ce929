//! Prepares the folders that macros read: the compiler does not see that a migration changes or is added, and the page may not be built yet.

use std::fs;

fn main() {
    println!("cargo:rerun-if-changed=../migrations");
    // A debug build reads the page's files when they are requested, but finds none below a folder that was missing when it was compiled.
    fs::create_dir_all("../web-demo/dist").expect("the folder of the page can be created");
}
