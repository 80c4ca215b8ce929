//! A set in the order of its elements.

use std::borrow::Borrow;
use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A set in the order of its elements, which JSON represents as an array.
///
/// An insertion in the middle moves what follows, so that large sets are better collected at once than inserted into.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SortedSet<T>(Vec<T>);

impl<T> SortedSet<T> {
    /// Returns an empty set.
    pub const fn new() -> SortedSet<T> {
        SortedSet(Vec::new())
    }

    /// Keeps the elements for which `predicate` holds.
    pub fn retain(&mut self, predicate: impl FnMut(&T) -> bool) {
        self.0.retain(predicate);
    }
}

impl<T: Ord> SortedSet<T> {
    /// Adds an element, and returns whether it was not there.
    pub fn insert(&mut self, element: T) -> bool {
        let place = self.0.binary_search(&element);
        if let Err(place) = place {
            self.0.insert(place, element);
        }
        place.is_err()
    }

    /// Removes an element, and returns whether it was there.
    pub fn remove<Q: Ord + ?Sized>(&mut self, element: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        let place = self.find(element);
        if let Some(place) = place {
            self.0.remove(place);
        }
        place.is_some()
    }

    /// Returns whether the set has an element.
    pub fn contains<Q: Ord + ?Sized>(&self, element: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.find(element).is_some()
    }

    /// Returns whether `other` has all elements of this set.
    pub fn is_subset(&self, other: &SortedSet<T>) -> bool {
        self.iter().all(|it| other.contains(it))
    }

    fn find<Q: Ord + ?Sized>(&self, element: &Q) -> Option<usize>
    where
        T: Borrow<Q>,
    {
        self.0.binary_search_by(|it| it.borrow().cmp(element)).ok()
    }
}

impl<T> Default for SortedSet<T> {
    fn default() -> SortedSet<T> {
        SortedSet::new()
    }
}

impl<T> Deref for SortedSet<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> SortedSet<T> {
        let mut set = SortedSet::new();
        set.extend(elements);
        set
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for SortedSet<T> {
    fn from(elements: [T; N]) -> SortedSet<T> {
        elements.into_iter().collect()
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        self.0.extend(elements);
        self.0.sort();
        self.0.dedup();
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'s, T> IntoIterator for &'s SortedSet<T> {
    type Item = &'s T;
    type IntoIter = std::slice::Iter<'s, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T: Serialize> Serialize for SortedSet<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de> + Ord> Deserialize<'de> for SortedSet<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SortedSet<T>, D::Error> {
        Ok(Vec::deserialize(deserializer)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_in_order_and_occur_once() {
        let mut set = SortedSet::from(["b", "a", "c", "a"].map(str::to_owned));
        assert!(set.insert("ab".to_owned()) && !set.insert("b".to_owned()));
        assert_eq!(set.to_vec(), ["a", "ab", "b", "c"]);
        assert!(set.remove("ab") && !set.remove("ab") && set.contains("c") && !set.contains("d"));
        set.retain(|it| it != "a");
        set.extend(["0".to_owned(), "c".to_owned()]);
        assert_eq!(serde_json::to_string(&set).unwrap(), r#"["0","b","c"]"#);
        assert_eq!(serde_json::from_str::<SortedSet<String>>(r#"["c","b","0","b"]"#).unwrap(), set);
        let part = SortedSet::from(["0".to_owned(), "c".to_owned()]);
        assert!(part.is_subset(&set) && !set.is_subset(&part) && SortedSet::new().is_subset(&part));
    }
}
