//! The software bill of materials, in the format CycloneDX 1.6.

use anyhow::Result;
use serde_json::{Value, json};

use super::dependencies::{Dependencies, Dependency, Registry};
use super::{SUMMARY, VERSION};

/// The bill: the program, and each package that is in it.
pub fn describe(dependencies: &Dependencies) -> Result<String> {
    let components: Vec<Value> = dependencies.packages.iter().map(component).collect();
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "convengine",
                "name": "convengine",
                "version": VERSION,
                "description": SUMMARY,
                "licenses": [{"expression": "MIT"}],
            },
        },
        "components": components,
    });
    Ok(serde_json::to_string_pretty(&bill)? + "\n")
}

fn component(package: &Dependency) -> Value {
    let registry = match package.registry {
        Registry::Cargo => "cargo",
        Registry::Npm => "npm",
    };
    let address = format!("pkg:{registry}/{}@{}", package.name.replace('@', "%40"), package.version.replace('+', "%2B"));
    json!({
        "type": "library",
        "bom-ref": address,
        "name": package.name,
        "version": package.version,
        "licenses": [{"expression": package.licence}],
        "purl": address,
    })
}
