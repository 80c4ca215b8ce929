//! Makes cargo expand `test_files!` again when a pack or a talk is added, renamed or changed.

fn main() {
    for folder in ["../packs", "../talks"] {
        println!("cargo::rerun-if-changed={folder}");
    }
}
