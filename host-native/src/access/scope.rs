//! Access scopes of callers.

use std::fmt;

/// A set of access scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scopes(u8);

impl Scopes {
    /// Send messages and use what belongs to them.
    pub const CONVERSE: Scopes = Scopes(1);
    /// Read conversations and their audit.
    pub const READ: Scopes = Scopes(2);
    /// Everything.
    pub const ADMIN: Scopes = Scopes(4);
    /// The scopes of which subscribers of a conversation need one.
    pub const LISTEN: Scopes = Scopes(1 | 2);

    const NAMES: [(&'static str, Scopes); 3] = [("converse", Scopes::CONVERSE), ("read", Scopes::READ), ("admin", Scopes::ADMIN)];

    /// Parses names separated by spaces or commas.
    ///
    /// # Errors
    /// A message for the user if a name is unknown or none is given.
    pub fn read(text: &str) -> Result<Scopes, String> {
        let names: Vec<&str> = text.split([' ', ',']).map(str::trim).filter(|it| !it.is_empty()).collect();
        if let Some(unknown) = names.iter().find(|it| Scopes::of([**it]) == Scopes::default()) {
            return Err(format!("unknown scope '{unknown}'; use converse, read or admin"));
        }
        if names.is_empty() { Err("missing scope; use converse, read or admin".to_owned()) } else { Ok(Scopes::of(names)) }
    }

    /// Creates a set from names; unknown names are ignored, as they belong to other services.
    pub fn of<'n>(names: impl IntoIterator<Item = &'n str>) -> Scopes {
        let of = |name: &str| Scopes::NAMES.iter().find(|it| it.0 == name).map_or(0, |it| it.1.0);
        Scopes(names.into_iter().fold(0, |all, name| all | of(name)))
    }

    /// Whether the set contains one of the needed scopes or admin.
    pub fn suffice(self, needed: Scopes) -> bool {
        self.0 & (needed.0 | Scopes::ADMIN.0) != 0
    }

    fn names(self) -> impl Iterator<Item = &'static str> {
        Scopes::NAMES.into_iter().filter(move |it| it.1.0 & self.0 != 0).map(|it| it.0)
    }

    /// The names separated by spaces, as in a token claim.
    pub fn text(self) -> String {
        self.names().collect::<Vec<_>>().join(" ")
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names().collect::<Vec<_>>().join(" or "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_admin_may_do_everything_and_the_others_what_they_are_for() {
        let read = |text| Scopes::read(text).expect("scopes");
        assert!(read("admin").suffice(Scopes::CONVERSE) && read("admin").suffice(Scopes::LISTEN));
        assert!(read("read,converse").suffice(Scopes::READ) && !read("read converse").suffice(Scopes::ADMIN));
        assert!(read("read").suffice(Scopes::LISTEN) && !read("read").suffice(Scopes::CONVERSE));
        assert_eq!((Scopes::LISTEN.to_string().as_str(), read("read, converse").text().as_str()), ("converse or read", "converse read"));
        assert!(!Scopes::of(["openid", "email"]).suffice(Scopes::LISTEN) && Scopes::of(["openid", "read"]).suffice(Scopes::READ));
        assert!(Scopes::read("read write").expect_err("unknown").contains("'write'") && Scopes::read(" ,").is_err());
    }
}
