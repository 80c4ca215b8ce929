//! Rebuilds the crate when a migration changes or is added: the compiler does not see the folder that `sqlx::migrate!` reads.

fn main() {
    println!("cargo:rerun-if-changed=../migrations");
}
