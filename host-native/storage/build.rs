//! The compiler does not see that a migration changes or is added.

fn main() {
    println!("cargo:rerun-if-changed=../../migrations");
}
