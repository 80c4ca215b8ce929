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
    /// Use the desk: the conversations that people have, or should have.
    pub const DESK: Scopes = Scopes(8);
    /// The scopes of which subscribers of a conversation need one.
    pub const LISTEN: Scopes = Scopes(1 | 2);

    const NAMES: [(&'static str, Scopes); 4] =
        [("converse", Scopes::CONVERSE), ("read", Scopes::READ), ("desk", Scopes::DESK), ("admin", Scopes::ADMIN)];

    /// Parses names separated by spaces or commas.
    ///
    /// # Errors
    /// A message for the user if a name is unknown or none is given.
    pub fn parse(text: &str) -> Result<Scopes, String> {
        let names: Vec<&str> = text.split([' ', ',']).map(str::trim).filter(|it| !it.is_empty()).collect();
        if let Some(unknown) = names.iter().find(|name| Scopes::from_names([**name]) == Scopes::default()) {
            return Err(format!("unknown scope '{unknown}'; use converse, read, desk or admin"));
        }
        if names.is_empty() { Err("missing scope; use converse, read, desk or admin".to_owned()) } else { Ok(Scopes::from_names(names)) }
    }

    /// Creates a set from names; unknown names are ignored, as they belong to other services.
    pub fn from_names<'n>(names: impl IntoIterator<Item = &'n str>) -> Scopes {
        let bit = |name: &str| Scopes::NAMES.iter().find(|scope| scope.0 == name).map_or(0, |scope| scope.1.0);
        Scopes(names.into_iter().fold(0, |all, name| all | bit(name)))
    }

    /// Whether the set contains one of the needed scopes or admin.
    pub fn is_sufficient_for(self, needed: Scopes) -> bool {
        self.0 & (needed.0 | Scopes::ADMIN.0) != 0
    }

    fn names(self) -> impl Iterator<Item = &'static str> {
        Scopes::NAMES.into_iter().filter(move |it| it.1.0 & self.0 != 0).map(|it| it.0)
    }

    /// The names separated by spaces, as in a token claim.
    pub fn to_text(self) -> String {
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
    fn admin_grants_everything_and_other_scopes_only_their_own() {
        let read = |text| Scopes::parse(text).expect("scopes");
        assert!(read("admin").is_sufficient_for(Scopes::CONVERSE) && read("admin").is_sufficient_for(Scopes::LISTEN));
        assert!(read("read,converse").is_sufficient_for(Scopes::READ) && !read("read converse").is_sufficient_for(Scopes::ADMIN));
        let desk = [Scopes::LISTEN, Scopes::READ, Scopes::CONVERSE, Scopes::ADMIN].map(|required| read("desk").is_sufficient_for(required));
        assert!(desk == [false; 4] && read("desk").is_sufficient_for(Scopes::DESK) && !read("read").is_sufficient_for(Scopes::DESK));
        assert!(read("read").is_sufficient_for(Scopes::LISTEN) && !read("read").is_sufficient_for(Scopes::CONVERSE));
        assert_eq!((Scopes::LISTEN.to_string().as_str(), read("read, converse").to_text().as_str()), ("converse or read", "converse read"));
        assert!(
            !Scopes::from_names(["openid", "email"]).is_sufficient_for(Scopes::LISTEN)
                && Scopes::from_names(["openid", "read"]).is_sufficient_for(Scopes::READ)
        );
        assert!(Scopes::parse("read write").expect_err("unknown").contains("'write'") && Scopes::parse(" ,").is_err());
    }
}
