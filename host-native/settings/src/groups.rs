//! How groups of settings are declared.

/// Declares the members of groups for serde: their names in kebab case, their types with the function that reads each, and their defaults.
/// A member without a function is read as its type is, and one without a default has that of its type.
macro_rules! groups {
    (@default $default:expr) => {
        $default
    };
    (@default) => {
        Default::default()
    };
    ($(
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$about:meta])* $access:vis $member:ident: $type:ty $(as $reader:tt)? $(= $default:expr)?,)*
        }
    )*) => {$(
        $(#[$attribute])*
        #[derive(Debug, Clone, serde::Deserialize)]
        #[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
        $visibility struct $name {
            $($(#[$about])* $(#[serde(deserialize_with = $reader)])? $access $member: $type,)*
        }

        impl Default for $name {
            fn default() -> $name {
                $name { $($member: groups!(@default $($default)?),)* }
            }
        }
    )*};
}

pub(crate) use groups;
