//! A map in the order of its keys.

use std::fmt;
use std::iter;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use litemap::LiteMap;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A map in the order of its keys, which JSON represents as an object.
///
/// An insertion in the middle moves what follows, so that large maps are better collected at once than inserted into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortedMap<K, V>(LiteMap<K, V>);

impl<K, V> SortedMap<K, V> {
    /// Returns an empty map.
    pub const fn new() -> SortedMap<K, V> {
        SortedMap(LiteMap::new_vec())
    }

    /// Returns whether the map has no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the keys in order.
    pub fn into_keys(self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator {
        self.into_iter().map(|(key, _)| key)
    }

    /// Returns the values in the order of their keys.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> + ExactSizeIterator {
        self.into_iter().map(|(_, value)| value)
    }

    /// Returns the values, to be changed, in the order of their keys.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> {
        self.iter_mut().map(|(_, value)| value)
    }
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> SortedMap<K, V> {
        SortedMap::new()
    }
}

impl<K, V> Deref for SortedMap<K, V> {
    type Target = LiteMap<K, V>;

    fn deref(&self) -> &LiteMap<K, V> {
        &self.0
    }
}

impl<K, V> DerefMut for SortedMap<K, V> {
    fn deref_mut(&mut self) -> &mut LiteMap<K, V> {
        &mut self.0
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> SortedMap<K, V> {
        SortedMap(entries.into_iter().collect())
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for SortedMap<K, V> {
    fn from(entries: [(K, V); N]) -> SortedMap<K, V> {
        entries.into_iter().collect()
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        self.0.extend(entries);
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_tuple_vec().into_iter()
    }
}

impl<'m, K, V> IntoIterator for &'m SortedMap<K, V> {
    type Item = (&'m K, &'m V);
    type IntoIter = <&'m LiteMap<K, V> as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        (&self.0).into_iter()
    }
}

impl<'m, K, V> IntoIterator for &'m mut SortedMap<K, V> {
    type Item = (&'m K, &'m mut V);
    type IntoIter = <&'m mut LiteMap<K, V> as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        (&mut self.0).into_iter()
    }
}

impl<K: Serialize, V: Serialize> Serialize for SortedMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Deserialize<'de> for SortedMap<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SortedMap<K, V>, D::Error> {
        deserializer.deserialize_map(EntryVisitor(PhantomData))
    }
}

struct EntryVisitor<K, V>(PhantomData<(K, V)>);

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Visitor<'de> for EntryVisitor<K, V> {
    type Value = SortedMap<K, V>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<SortedMap<K, V>, A::Error> {
        iter::from_fn(|| access.next_entry().transpose()).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn entries_are_in_the_order_of_their_keys_and_the_last_of_a_key_counts() {
        let mut map: SortedMap<&str, u8> = [("b", 1), ("a", 2), ("c", 3), ("b", 4)].into();
        map.insert("aa", 5);
        *map.entry("c").or_default() += 1;
        map.extend([("", 6), ("a", 7)]);
        let entries = [("", 6), ("a", 7), ("aa", 5), ("b", 4), ("c", 4)];
        assert_eq!((&map).into_iter().map(|it| (*it.0, *it.1)).collect::<Vec<_>>(), entries);
        assert_eq!((map.get("b").copied(), map.get("d").copied(), map.remove("aa"), map.remove("aa")), (Some(4), None, Some(5), None));
        map.values_mut().for_each(|it| *it *= 2);
        assert_eq!(map.clone().into_keys().collect::<Vec<_>>(), ["", "a", "b", "c"]);
        assert_eq!(map.into_values().collect::<Vec<_>>(), [12, 14, 8, 8]);
    }

    #[test]
    fn json_represents_a_map_as_an_object() {
        assert_eq!(json!(SortedMap::<String, u8>::new()).to_string(), "{}");
        let map: SortedMap<u32, bool> = serde_json::from_str(r#"{"10": true, "9": false, "10": false}"#).unwrap();
        assert_eq!(map, SortedMap::from([(9, false), (10, false)]));
        assert_eq!(serde_json::to_string(&map).unwrap(), r#"{"9":false,"10":false}"#);
    }
}
