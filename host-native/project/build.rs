//! The compiler does not see that a file of the template is added.

fn main() {
    println!("cargo:rerun-if-changed=template");
}
