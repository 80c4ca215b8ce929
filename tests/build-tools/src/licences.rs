//! Checks the licences and sources of dependencies as `deny.toml` lists them, for machines without cargo-deny.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use spdx::{Expression, ParseMode};

/// How cargo begins the source of a package from a registry; `.cargo/config.toml` names no other registry than cargo's own.
const REGISTRY: &str = "registry+";

/// Checks all dependencies of the workspaces, whatever the platform and the features that need them.
pub fn check(manifests: &[&str]) -> Result<()> {
    let allowed = read_allowed(&fs::read_to_string("deny.toml").context("cannot read 'deny.toml'")?)?;
    let mut problems = BTreeSet::new();
    let mut count = 0;
    for manifest in manifests {
        let metadata = read_metadata(manifest)?;
        for package in metadata["packages"].as_array().context("expected packages in the metadata of cargo")? {
            count += 1;
            problems.extend(
                find_problem(package, &allowed).map(|problem| format!("{} {}: {problem}", text(package, "name"), text(package, "version"))),
            );
        }
    }
    if !problems.is_empty() {
        bail!("{}", problems.into_iter().collect::<Vec<_>>().join("\n"));
    }
    println!("{count} packages have allowed licences and sources");
    Ok(())
}

/// Returns what cargo knows of a workspace and its dependencies.
pub fn read_metadata(manifest: &str) -> Result<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    let output = command.args(["metadata", "--format-version", "1", "--all-features", "--locked", "--manifest-path", manifest]).output()?;
    ensure!(output.status.success(), "cargo cannot read '{manifest}': {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Returns the licences of the list `allow`, one a line.
fn read_allowed(deny: &str) -> Result<Vec<String>> {
    let list = deny.split_once("\nallow = [").and_then(|it| it.1.split_once(']')).context("expected `allow = [` in 'deny.toml'")?.0;
    let entries = list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(entries.map(|line| line.trim_matches(['"', ',']).to_owned()).collect())
}

fn find_problem(package: &Value, allowed: &[String]) -> Option<String> {
    // Packages of a workspace have no source.
    if let Some(source) = package["source"].as_str().filter(|it| !it.starts_with(REGISTRY)) {
        return Some(format!("source '{source}' is not a registry"));
    }
    let licence = text(package, "license");
    let Ok(expression) = Expression::parse_mode(licence, ParseMode::LAX) else {
        return Some(format!("licence '{licence}' is not an SPDX expression"));
    };
    let is_allowed = expression.evaluate(|requirement| allowed.iter().any(|licence| *licence == requirement.to_string()));
    (!is_allowed).then(|| format!("licence '{licence}' is not in the list of 'deny.toml'"))
}

fn text<'v>(package: &'v Value, key: &str) -> &'v str {
    package[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{REGISTRY, find_problem, read_allowed};

    #[test]
    fn a_licence_is_allowed_by_the_list() {
        let allowed = read_allowed("[licenses]\nallow = [\n  # Most.\n  \"MIT\",\n  \"Apache-2.0 WITH LLVM-exception\",\n]\n").unwrap();
        let problem = |licence: &str| find_problem(&json!({"license": licence, "source": REGISTRY}), &allowed);
        for licence in ["MIT", "MIT OR GPL-3.0", "MIT/Apache-2.0", "Apache-2.0 WITH LLVM-exception"] {
            assert_eq!(problem(licence), None, "{licence}");
        }
        for licence in ["GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "", "my own"] {
            assert!(problem(licence).is_some(), "{licence}");
        }
    }

    #[test]
    fn another_source_is_a_problem() {
        let package = |source| json!({"license": "MIT", "source": source});
        assert!(find_problem(&package("git+https://example.com/repository"), &["MIT".to_owned()]).is_some());
        assert_eq!(find_problem(&json!({"license": "MIT", "source": null}), &["MIT".to_owned()]), None);
    }
}
