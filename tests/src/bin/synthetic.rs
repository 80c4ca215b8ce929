//! Prints a pack with a configuration of any size: `synthetic ROWS`. Its turns do not depend on the number of rows.

use anyhow::{Result, bail};
use convengine_tests::synthetic;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [rows] = arguments.as_slice() else { bail!("usage: synthetic ROWS") };
    println!("{}", serde_json::to_string(&synthetic::pack(rows.parse()?)?)?);
    Ok(())
}
