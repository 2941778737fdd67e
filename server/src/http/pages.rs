//! The page that people look at, and its files. It asks nobody but this server for anything.

use std::sync::Arc;

use axum::http::HeaderValue;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Router, routing::get};

use crate::Shared;

/// The addresses of the page; each opens another view of it.
const VIEWS: [&str; 5] = ["/dashboard", "/cluster", "/models", "/languages", "/compute-power"];

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

const HTML: &str = include_str!("../pages/dashboard.html");
const CSS: &str = include_str!("../pages/dashboard.css");
const SCRIPT: &str = include_str!("../pages/dashboard.js");
const ICON: &str = include_str!("../pages/icon.svg");

pub(super) fn routes() -> Router<Arc<Shared>> {
    let views = VIEWS.into_iter().fold(Router::new(), |views, path| {
        views.route(path, get(|| async { file("text/html; charset=utf-8", HTML) }))
    });
    views
        .route("/", get(|| async { Redirect::temporary("/dashboard") }))
        .route("/pages/dashboard.css", get(|| async { file("text/css; charset=utf-8", CSS) }))
        .route(
            "/pages/dashboard.js",
            get(|| async { file("text/javascript; charset=utf-8", SCRIPT) }),
        )
        .route("/pages/icon.svg", get(|| async { file("image/svg+xml", ICON) }))
}

fn file(kind: &'static str, text: &'static str) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(kind)),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        // After an update of the server the old script must not meet the new answers.
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, text).into_response()
}
