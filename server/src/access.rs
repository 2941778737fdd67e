//! Who may open a socket, and who may see the pages of the operator.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use axum::http::{HeaderMap, Uri, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Longest token that is looked at.
const TOKEN_BYTES: usize = 4_096;
/// How far the clock of whoever issues tokens may be ahead.
const CLOCK_SKEW_S: f64 = 60.0;

/// Which kind of socket is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A client's.
    Session,
    /// A node's.
    Node,
}

impl Kind {
    /// Name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Node => "node",
        }
    }

    /// What the `aud` claim of a token must name.
    fn audience(self) -> &'static str {
        match self {
            Self::Session => "lingua-session",
            Self::Node => "lingua-node",
        }
    }
}

/// Who may do what.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// Who may open a session socket.
    pub sessions: Rule,
    /// Who may open a node socket.
    pub nodes: Rule,
    /// Whether the operator's pages are shown to other machines too.
    pub admin_anywhere: bool,
}

/// What a peer must show to open a socket.
#[derive(Debug, Clone, Default)]
pub enum Rule {
    /// Nothing. Only for servers that listen on a loopback address.
    #[default]
    Open,
    /// This token.
    Token(Secret),
    /// A JSON Web Token signed by HS256 with this key, with the claims `exp`, and `aud`
    /// `lingua-session` or `lingua-node`.
    Jwt(Secret),
}

/// A secret, which is never shown.
#[derive(Clone)]
pub struct Secret(Box<str>);

/// A text that is too easy to guess, or cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a secret has {} to {} visible ASCII characters: this one has {len} bytes",
    Secret::MIN,
    Secret::MAX
)]
pub struct SecretError {
    /// Its length.
    pub len: usize,
}

impl Secret {
    /// Shortest one: 32 random bytes make 43 characters of base64, 16 random hexadecimal ones 32.
    pub const MIN: usize = 32;
    /// Longest one.
    pub const MAX: usize = 1_024;
}

impl Secret {
    /// The secret itself, for whoever shows it to a peer of ours.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Whether somebody shows it.
    pub(crate) fn is_shown(&self, token: &str) -> bool {
        token.len() <= TOKEN_BYTES && same(self, token)
    }
}

impl FromStr for Secret {
    type Err = SecretError;

    fn from_str(text: &str) -> Result<Self, SecretError> {
        let fits = (Self::MIN..=Self::MAX).contains(&text.len());
        if fits && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(text.into()))
        } else {
            Err(SecretError { len: text.len() })
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

impl Access {
    /// The rule for one kind of socket.
    pub fn rule(&self, kind: Kind) -> &Rule {
        match kind {
            Kind::Session => &self.sessions,
            Kind::Node => &self.nodes,
        }
    }

    /// Whether whoever shows this token may open such a socket at `now_s`, in Unix seconds.
    pub fn admits(&self, kind: Kind, token: Option<&str>, now_s: f64) -> bool {
        let token = token.filter(|token| token.len() <= TOKEN_BYTES);
        match (self.rule(kind), token) {
            (Rule::Open, _) => true,
            (_, None) => false,
            (Rule::Token(secret), Some(token)) => same(secret, token),
            (Rule::Jwt(key), Some(token)) => signed(key, kind, token, now_s).unwrap_or(false),
        }
    }

    /// Whether a page may open such a socket that a browser loaded from `origin`. Where no token is
    /// needed any page that somebody opens on this machine could, so only those of this machine may.
    pub fn admits_page(&self, kind: Kind, origin: Option<&str>) -> bool {
        !matches!(self.rule(kind), Rule::Open) || origin.is_none_or(is_of_this_machine)
    }

    /// Whether the operator's pages are shown to this peer.
    pub fn shows_admin(&self, peer: IpAddr) -> bool {
        self.admin_anywhere || peer.to_canonical().is_loopback()
    }
}

/// Whether the host of an origin like `http://localhost:3000` is this machine.
fn is_of_this_machine(origin: &str) -> bool {
    let host = Uri::try_from(origin).ok().and_then(|uri| Some(uri.host()?.to_owned()));
    host.is_some_and(|host| {
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    })
}

/// The token that a request shows: in its header, or, since browsers cannot set one for a
/// WebSocket, in the query.
pub(crate) fn shown<'a>(headers: &'a HeaderMap, query: Option<&'a str>) -> Option<Cow<'a, str>> {
    let header = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    if let Some(header) = header {
        let (scheme, token) = header.split_once(' ')?;
        return scheme.eq_ignore_ascii_case("bearer").then_some(token.into());
    }
    let token = query?.split('&').find_map(|field| field.strip_prefix("token="))?;
    percent_decode_str(token).decode_utf8().ok()
}

/// Compares digests, so that neither the time nor the length tells anything.
fn same(secret: &Secret, token: &str) -> bool {
    let digest = |text: &str| Sha256::digest(text.as_bytes());
    digest(&secret.0).ct_eq(&digest(token)).into()
}

#[derive(Deserialize)]
struct Head {
    alg: String,
}

#[derive(Deserialize)]
struct Claims {
    exp: f64,
    nbf: Option<f64>,
    aud: Audience,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Audience {
    fn names(&self, wanted: &str) -> bool {
        match self {
            Self::One(one) => one == wanted,
            Self::Several(several) => several.iter().any(|one| one == wanted),
        }
    }
}

/// Absent where it is no token at all.
fn signed(key: &Secret, kind: Kind, token: &str, now_s: f64) -> Option<bool> {
    let (body, signature) = token.rsplit_once('.')?;
    let (head, claims) = body.split_once('.')?;
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
    let mut mac = Hmac::<Sha256>::new_from_slice(key.0.as_bytes()).ok()?;
    mac.update(body.as_bytes());
    mac.verify_slice(&decode(signature)?).ok()?;
    let head: Head = serde_json::from_slice(&decode(head)?).ok()?;
    let claims: Claims = serde_json::from_slice(&decode(claims)?).ok()?;
    let begun = claims.nbf.is_none_or(|begins| begins <= now_s + CLOCK_SKEW_S);
    let lives = begun && now_s < claims.exp;
    Some(head.alg == "HS256" && lives && claims.aud.names(kind.audience()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "0123456789abcdef0123456789abcdef";
    const NOW: f64 = 1_800_000_000.0;

    fn jwt(key: &str, head: &str, claims: &str) -> String {
        let body = format!("{}.{}", URL_SAFE_NO_PAD.encode(head), URL_SAFE_NO_PAD.encode(claims));
        let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).unwrap();
        mac.update(body.as_bytes());
        format!("{body}.{}", URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
    }

    fn access(sessions: Rule) -> Access {
        Access { sessions, ..Access::default() }
    }

    #[test]
    fn only_the_token_opens() {
        let access = access(Rule::Token(KEY.parse().unwrap()));
        let admits = |token| access.admits(Kind::Session, token, NOW);
        assert!(admits(Some(KEY)));
        let longer = format!("{KEY}0");
        for wrong in [None, Some(""), Some(&KEY[1..]), Some(longer.as_str())] {
            assert!(!admits(wrong), "{wrong:?}");
        }
        assert!(access.admits(Kind::Node, None, NOW), "nodes are open here");
    }

    #[test]
    fn a_signed_token_lives_for_its_time_and_its_kind() {
        let access = access(Rule::Jwt(KEY.parse().unwrap()));
        let head = r#"{"alg":"HS256","typ":"JWT"}"#;
        let admits = |token: &str| access.admits(Kind::Session, Some(token), NOW);
        let good = r#"{"exp":1800000001,"aud":["x","lingua-session"]}"#;
        assert!(admits(&jwt(KEY, head, good)));
        assert!(admits(&jwt(KEY, head, r#"{"exp":1800000001.5,"aud":"lingua-session"}"#)));
        let wrong = [
            jwt("another key of thirty-two bytes.", head, good),
            jwt(KEY, r#"{"alg":"none"}"#, good),
            jwt(KEY, r#"{"alg":"HS512"}"#, good),
            jwt(KEY, head, r#"{"exp":1800000000,"aud":"lingua-session"}"#),
            jwt(KEY, head, r#"{"aud":"lingua-session"}"#),
            jwt(KEY, head, r#"{"exp":1800000001}"#),
            jwt(KEY, head, r#"{"exp":1800000001,"aud":"lingua-node"}"#),
            jwt(KEY, head, r#"{"exp":1800000999,"nbf":1800000061,"aud":"lingua-session"}"#),
            "..".to_owned(),
            "a.b".to_owned(),
            String::new(),
            "x".repeat(TOKEN_BYTES + 1),
        ];
        for token in wrong {
            assert!(!admits(&token), "{token}");
        }
        let token = jwt(KEY, head, good);
        let unsigned = &token[..=token.rfind('.').unwrap()];
        assert!(!admits(unsigned), "the signature is not optional");
    }

    #[test]
    fn a_token_is_in_the_header_or_in_the_query() {
        let token = |header: Option<&str>, query| {
            let header = header.map(|text| (header::AUTHORIZATION, text.parse().unwrap()));
            let headers: HeaderMap = header.into_iter().collect();
            shown(&headers, query).map(Cow::into_owned)
        };
        assert_eq!(token(None, None), None);
        assert_eq!(token(None, Some("a=1&token=a%2Bbc&b")).as_deref(), Some("a+bc"));
        assert_eq!(token(Some("bearer xyz"), Some("token=abc")).as_deref(), Some("xyz"));
        assert_eq!(token(Some("Basic xyz"), Some("token=abc")), None, "the header decides");
    }

    #[test]
    fn pages_from_elsewhere_open_nothing_without_a_token() {
        let open = Access::default();
        let closed = access(Rule::Token(KEY.parse().unwrap()));
        for (origin, here) in [
            (None, true),
            (Some("http://localhost:3000"), true),
            (Some("http://127.0.0.1"), true),
            (Some("https://[::1]:8443"), true),
            (Some("http://example.com:5010"), false),
            (Some("http://localhost.example.com"), false),
            (Some("http://127.0.0.1.example.com"), false),
            (Some("null"), false),
            (Some(""), false),
        ] {
            assert_eq!(open.admits_page(Kind::Session, origin), here, "{origin:?}");
            assert!(closed.admits_page(Kind::Session, origin), "the token decides");
        }
    }

    #[test]
    fn the_operators_pages_are_for_this_machine() {
        let here = ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"];
        let mut access = Access::default();
        assert!(here.iter().all(|ip| access.shows_admin(ip.parse().unwrap())));
        assert!(!access.shows_admin("10.0.0.1".parse().unwrap()));
        access.admin_anywhere = true;
        assert!(access.shows_admin("10.0.0.1".parse().unwrap()));
    }

    #[test]
    fn secrets_are_long_and_hidden() {
        assert!("short".parse::<Secret>().is_err());
        assert!(" ".repeat(40).parse::<Secret>().is_err());
        let secret: Secret = KEY.parse().unwrap();
        assert!(!format!("{secret:?}").contains("0123"));
    }
}
