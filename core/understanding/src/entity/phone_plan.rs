//! Numbering plans: which digits are a phone number of a country, by their first digit and their length.

/// What numbers of a region look like. A list such as `2-9:10 1:8-9` has first digits and the lengths of numbers that begin with one of them.
pub(super) struct Plan {
    region: &'static str,
    /// The calling code.
    pub(super) code: &'static str,
    /// What is dialled before the area code within the country, and is no part of the number.
    pub(super) trunk: &'static str,
    /// What is dialled before a calling code, besides `+` and `00`.
    pub(super) abroad: &'static str,
    /// Numbers without their trunk prefix.
    complete: &'static str,
    /// Those of them that may be written without it as well.
    bare: &'static str,
    /// Digits that are possible but do not tell the number: without area code, or of a plan with many lengths.
    unclear: &'static str,
}

const PLANS: [Plan; 36] = [
    plan("US", "1", "1", "2-9:10", "2-9:10", "2-9:7 0-9:10 1:11"),
    plan("CA", "1", "1", "2-9:10", "2-9:10", "2-9:7 0-9:10 1:11"),
    plan("GB", "44", "0", "1-3,5,7-9:10 1,5,8:9 8:7", "1-3,5,7-9:10 1,5,8:9", "1-9:7-8"),
    plan("IE", "353", "0", "1-9:7-10", "", "1-9:7-10"),
    plan("DE", "49", "0", "1-9:6-13", "", "1-9:7-12"),
    plan("AT", "43", "0", "1-9:5-13", "", "1-9:7-12"),
    plan("CH", "41", "0", "2-9:9", "2-9:9", ""),
    plan("FR", "33", "0", "1-9:9", "1-9:9", ""),
    plan("BE", "32", "0", "1-9:8 4:9", "1-9:8 4:9", ""),
    plan("NL", "31", "0", "1-9:9 8-9:7-8 8-9:10 9:11", "1-9:9", "1-9:7-8,10"),
    plan("LU", "352", "", "2-9:4-11", "2-9:6-9", "1-9:7-11"),
    plan("IT", "39", "", "0:6-11 3:9-10 1,4-5,8:9-10", "0:6-10 3:9-10 1,4-5,8:9-10", ""),
    plan("ES", "34", "", "5-9:9", "5-9:9", ""),
    plan("PT", "351", "", "2-3,6-9:9", "2-3,6-9:9", ""),
    plan("GR", "30", "", "2-9:10", "2-9:10", ""),
    plan("DK", "45", "", "2-9:8", "2-9:8", ""),
    plan("NO", "47", "", "2-9:8", "2-9:8", ""),
    plan("SE", "46", "0", "1-9:6-10", "", "1-9:7-10"),
    plan("FI", "358", "0", "1-9:5-12", "", "1-9:7-12"),
    plan("PL", "48", "", "1-9:9", "1-9:9", ""),
    plan("CZ", "420", "", "2-9:9", "2-9:9", ""),
    plan("SK", "421", "0", "2-9:9", "2-9:9", ""),
    plan("RO", "40", "0", "2-9:9", "2-9:9", ""),
    plan("TR", "90", "0", "2-9:10", "2-9:10", "1-9:7"),
    plan("UA", "380", "0", "3-9:9 8-9:10", "3-9:9", "1-9:7"),
    plan("IN", "91", "0", "1-9:10", "1-9:10", "1-9:7-8,11"),
    plan("JP", "81", "0", "1-9:9-10", "1-9:9-10", "1-9:7-8"),
    plan("SG", "65", "", "3,6,8-9:8", "3,6,8-9:8", "1-9:11"),
    plan("AU", "61", "0", "2-5,7-8:9 1:10", "2-5,7-8:9", "1-9:8,10"),
    plan("NZ", "64", "0", "3-4,6-7,9:8 2,5,8:8-10", "3-4,6-7,9:8 2,5,8:8-9", "1-9:7,10"),
    plan("ZA", "27", "0", "1-9:9", "1-9:9", ""),
    plan("BR", "55", "0", "1-9:10-11", "1-9:10-11", "1-9:8-9"),
    plan("MX", "52", "", "2-9:10", "2-9:10", "1-9:7-8"),
    plan("AR", "54", "0", "1-3,6,8:10 9:11", "1-3,6,8:10 9:11", "1-9:7-8 1:10"),
    plan("CL", "56", "", "2-9:9", "2-9:9", ""),
    plan("CO", "57", "", "1-9:10", "1-9:10", "1-9:7"),
];

/// Three-digit beginnings that no country has as calling code.
const UNASSIGNED: &str = "210,214-215,217,219,259,280-289,292-296,384,388,422,424-429,671,684,693-699,801-807,809,830-839,851,854,857-859,\
    871-877,879,884-885,887,889-899,969,978,990,999";

const fn plan(
    region: &'static str,
    code: &'static str,
    trunk: &'static str,
    complete: &'static str,
    bare: &'static str,
    unclear: &'static str,
) -> Plan {
    let abroad = match (code.as_bytes(), region.as_bytes()) {
        (b"1", _) => "011",
        (_, b"AU") => "0011",
        (_, b"JP") => "010",
        _ => "00",
    };
    Plan { region, code, trunk, abroad, complete, bare, unclear }
}

/// What digits are that have no calling code.
pub(super) enum National {
    /// A number, without the trunk prefix.
    Complete(String),
    /// They may be one, or a part of one.
    Unclear,
    /// No number is as long, or begins like them.
    Impossible,
}

impl Plan {
    /// The plan of a region.
    pub(super) fn of_region(region: &str) -> Option<&'static Plan> {
        PLANS.iter().find(|it| it.region == region)
    }

    /// Reads digits as they are dialled within the country.
    pub(super) fn read_national(&self, digits: &str) -> National {
        let stripped = digits.strip_prefix(self.trunk).filter(|_| !self.trunk.is_empty());
        if let Some(number) = stripped.map(|it| self.without_mobile_prefix(it)).filter(|it| self.is_complete(it)) {
            return National::Complete(number);
        }
        if self.is_complete(digits) && is_listed(self.bare, digits) {
            return National::Complete(digits.to_owned());
        }
        if is_listed(self.unclear, digits) { National::Unclear } else { National::Impossible }
    }

    /// Reads digits that begin with the calling code, apart from all others: `91 98765 43210`. Few numbers of a plan with many lengths are as long.
    pub(super) fn read_own_code(&self, digits: &str) -> Option<String> {
        let number = digits.strip_prefix(self.code)?;
        (self.is_complete(number) && (!self.bare.is_empty() || number.len() > 8)).then(|| number.to_owned())
    }

    /// Reads what follows a calling code, where a trunk prefix may have been kept.
    fn read_abroad(&self, digits: &str) -> Option<String> {
        // Mexican mobile numbers had a 1 there until 2019.
        let prefix = if self.code == "52" { "1" } else { self.trunk };
        let stripped = digits.strip_prefix(prefix).filter(|_| !prefix.is_empty() && self.code != "1");
        [Some(digits), stripped].into_iter().flatten().find(|it| self.is_complete(it)).map(str::to_owned)
    }

    /// Argentine mobile numbers have a 15 behind the area code at home, and a 9 before it abroad.
    fn without_mobile_prefix(&self, number: &str) -> String {
        let area =
            |length: &usize| number.get(*length..).is_some_and(|rest| rest.starts_with("15")) && (*length > 2 || number.starts_with("11"));
        match [2, 3, 4]
            .into_iter()
            .find(area)
            .filter(|_| self.code == "54" && number.len() == 12)
            .and_then(|it| number.split_at_checked(it))
        {
            Some((area, rest)) => ["9", area, rest.trim_start_matches("15")].concat(),
            None => number.to_owned(),
        }
    }

    /// Whether a number that begins so may be as long; one with a first digit that no number has may be as long as any.
    fn is_possible(&self, number: &str) -> bool {
        let Some(first) = number.get(..1).and_then(|digit| digit.parse().ok()).filter(|it| *it > 0) else { return false };
        let entries: Vec<(&str, &str)> = self.complete.split(' ').filter_map(|it| it.split_once(':')).collect();
        let is_known = entries.iter().any(|it| is_in(it.0, first));
        entries.iter().any(|(prefixes, lengths)| (!is_known || is_in(prefixes, first)) && is_in(lengths, number.len()))
    }

    fn is_complete(&self, number: &str) -> bool {
        let starts_as_number = match self.code {
            // Mobile numbers of eleven digits have a 9 behind the area code; others are numbers of taxpayers.
            "55" => number.len() < 11 || number.get(2..3) == Some("9"),
            // Else a mobile number, which has no zero.
            "39" => number.len() < 11 || !number.starts_with("03"),
            "54" => !number.starts_with("15"),
            _ => true,
        };
        starts_as_number && is_listed(self.complete, number)
    }
}

/// Reads digits behind `+`, from which one form lacks a zero in parentheses: the number with its calling code.
pub(super) fn read_international(digits: &str, without_trunk: &str) -> Option<String> {
    let Some(plan) = PLANS.iter().find(|it| digits.starts_with(it.code)) else {
        let is_assigned = without_trunk.get(..3)?.parse().is_ok_and(|it| !is_in(UNASSIGNED, it));
        return (is_assigned && !without_trunk.starts_with('0')).then(|| without_trunk.to_owned());
    };
    let mut readings = [digits, without_trunk].into_iter().filter_map(|it| it.strip_prefix(plan.code));
    // With its sign it is a phone number: no number begins with these digits today, but some are as long.
    let valid = readings.clone().find_map(|it| plan.read_abroad(it));
    valid.or_else(|| readings.find(|reading| plan.is_possible(reading)).map(str::to_owned)).map(|number| plan.code.to_owned() + &number)
}

/// Whether a list of first digits and lengths has a number.
fn is_listed(list: &str, number: &str) -> bool {
    let first = number.get(..1).and_then(|digit| digit.parse().ok());
    let mut entries = list.split(' ').filter_map(|it| it.split_once(':'));
    first.is_some_and(|first| entries.any(|(firsts, lengths)| is_in(firsts, first) && is_in(lengths, number.len())))
}

/// Whether a list such as `7,9-10` has a number.
fn is_in(list: &str, number: usize) -> bool {
    list.split(',').any(|range| {
        let (least, most) = range.split_once('-').unwrap_or((range, range));
        least.parse().is_ok_and(|least: usize| least <= number) && most.parse().is_ok_and(|most: usize| number <= most)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_first_digits_and_lengths() {
        assert!(is_in("7,9-10", 7) && is_in("7,9-10", 10) && !is_in("7,9-10", 8) && !is_in("", 0));
        assert!(is_listed("2-9:10 1:8-9", "12345678") && !is_listed("2-9:10 1:8-9", "22345678") && !is_listed("1:8", ""));
        for plan in &PLANS {
            let entries: Vec<_> =
                [plan.complete, plan.bare, plan.unclear].iter().flat_map(|it| it.split(' ')).filter(|it| !it.is_empty()).collect();
            let mut numbers = entries.iter().flat_map(|it| it.split([':', ',', '-']));
            assert!(numbers.all(|number| number.parse::<usize>().is_ok()) && entries.iter().all(|it| it.contains(':')), "{}", plan.region);
            assert!(plan.region.len() == 2 && plan.code.len() < 4 && plan.trunk.len() < 2 && plan.abroad.starts_with('0'));
        }
    }
}
