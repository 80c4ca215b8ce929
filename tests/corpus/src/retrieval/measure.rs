//! The figures of a ranked list: recall and normalised discounted cumulative gain.

use std::collections::BTreeMap;

/// How good the list of one question is, or the mean of many.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Figures {
    /// The part of the relevant passages among the first five.
    pub recall_at_5: f64,
    /// The gain of the first ten, discounted by rank, relative to the best order.
    pub ndcg_at_10: f64,
}

impl Figures {
    /// Returns the figures of a list, best first.
    pub fn new(found: &[String], relevant: &BTreeMap<String, u32>) -> Figures {
        let grades: Vec<u32> = found.iter().map(|id| relevant.get(id).copied().unwrap_or_default()).collect();
        let mut ideal: Vec<u32> = relevant.values().copied().collect();
        ideal.sort_unstable_by(|left, right| right.cmp(left));
        let hits = grades.iter().take(5).filter(|it| **it > 0).count();
        Figures { recall_at_5: hits as f64 / ideal.len().max(1) as f64, ndcg_at_10: gain(&grades) / gain(&ideal).max(f64::MIN_POSITIVE) }
    }

    /// Returns the mean of figures.
    pub fn mean(all: impl Iterator<Item = Figures>) -> Figures {
        let (mut sum, mut count) = (Figures::default(), 0_u32);
        for one in all {
            sum.recall_at_5 += one.recall_at_5;
            sum.ndcg_at_10 += one.ndcg_at_10;
            count += 1;
        }
        let count = f64::from(count.max(1));
        Figures { recall_at_5: sum.recall_at_5 / count, ndcg_at_10: sum.ndcg_at_10 / count }
    }
}

fn gain(grades: &[u32]) -> f64 {
    (2_u32..).zip(grades.iter().take(10)).map(|(place, grade)| f64::from(*grade) / f64::from(place).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_the_standard_figures() {
        let relevant = BTreeMap::from([("a".to_owned(), 2), ("b".to_owned(), 1)]);
        let figures = |ids: &str| Figures::new(&ids.chars().map(|character| character.to_string()).collect::<Vec<_>>(), &relevant);
        assert_eq!(figures("ab"), Figures { recall_at_5: 1.0, ndcg_at_10: 1.0 });
        assert_eq!(figures("xyz"), Figures::default());
        assert_eq!(figures("vwxyza").recall_at_5, 0.0);
        let swapped = (1.0 + 2.0 / 3_f64.log2()) / (2.0 + 1.0 / 3_f64.log2());
        assert!((figures("ba").ndcg_at_10 - swapped).abs() < 1e-12);
    }
}
