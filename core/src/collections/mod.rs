//! Collections in the order of their keys, each a sorted vector: a tree is compiled for each type that it holds, which costs
//! the browser's engine many times the bytes.

mod sorted_map;
mod sorted_set;

pub use sorted_map::SortedMap;
pub use sorted_set::SortedSet;
