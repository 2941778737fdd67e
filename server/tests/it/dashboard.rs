//! The dashboard in a real browser.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::figures::eager;
use crate::http::{self, get};
use crate::peers::{Client, Node, server_with};

const VIEWS: [&str; 5] = ["/dashboard", "/cluster", "/models", "/languages", "/compute-power"];

/// A small deployment at work: nodes that take their time, people who talk, one pair without nodes.
async fn deployment(url: &str) {
    let fleet = [
        ("zh", "en", 4, 12),
        ("en", "zh", 4, 9),
        ("zh", "ja", 3, 2),
        ("de", "en", 2, 2),
        ("en", "de", 2, 1),
    ];
    for (src, tgt, max, count) in fleet {
        for n in 0..count {
            let id = format!("node-{src}-{tgt}-{n:02}");
            let mut node = Node::register(url, &id, src, tgt, max).await;
            tokio::spawn(async move {
                loop {
                    let job = node.job().await;
                    tokio::time::sleep(Duration::from_millis(90 + 40 * n)).await;
                    node.answer(&job, "good morning").await;
                }
            });
        }
    }
    let talks = [
        ("zh", "en", 46, 100),
        ("en", "zh", 31, 100),
        ("zh", "ja", 9, 100),
        ("de", "en", 5, 100),
        ("fr", "en", 2, 1_000),
    ];
    for (src, tgt, count, pause) in talks {
        for n in 0..count {
            let mut client = Client::open(url, src, tgt).await;
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(60 * n)).await;
                loop {
                    client.speak(5, true).await;
                    while let Some(text) = client.hear().await {
                        if text.contains("translation_result") || text.contains("NO_AVAILABLE") {
                            break;
                        }
                    }
                    tokio::time::sleep(Duration::from_millis(pause + 37 * (n % 11))).await;
                }
            });
        }
    }
}

/// What the page should show for a value.
fn is_shown(text: &str, form: &str, value: &Value) -> bool {
    let number = || text.trim_end_matches(" %").replace(',', "").parse::<f64>();
    match (form, value.as_f64()) {
        ("count", None) => text == "0",
        (_, None) => text == "–",
        ("count", Some(value)) => number() == Ok(value),
        ("percent", Some(value)) => number().is_ok_and(|n| (n - 100.0 * value).abs() <= 0.0501),
        (_, Some(value)) => number().is_ok_and(|n| (n - value).abs() <= 0.0501),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_shows_the_figures_on_a_desk_and_on_a_phone() {
    let mut config = eager();
    config.limits.snapshot = Duration::from_millis(400);
    let url = server_with(config).await;
    deployment(&url).await;
    let web = url.replace("ws://", "http://");
    let mut browser = Browser::start().await;

    browser.open(&format!("{web}/dashboard"), 1_120, 1_040).await;
    browser.wait("document.querySelectorAll('#pools tbody tr').length === 6").await;
    figures_are_those_of_the_api(&mut browser, &url).await;
    browser
        .wait("document.querySelector('svg.line path.over').getAttribute('d').length > 99")
        .await;
    let pools = browser.value("document.getElementById('pools').innerText").await;
    assert!(pools.as_str().unwrap().contains("fr → en"), "{pools}");
    assert_eq!(browser.value("document.querySelectorAll('#fleet i').length").await, 26);
    // Lines need some minutes of the server's time, which this one lives faster.
    tokio::time::sleep(Duration::from_secs(8)).await;
    leave_screenshot(&mut browser, "dashboard.png").await;

    let dark = json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
    browser.call("Emulation.setEmulatedMedia", dark).await;
    for view in VIEWS {
        browser.open(&format!("{web}{view}"), 360, 740).await;
        browser.wait("document.body !== null && document.body.dataset.made > 0").await;
        let wide = browser.value("document.documentElement.scrollWidth - innerWidth").await;
        assert_eq!(wide, 0, "{view} has to be pushed sideways on a phone");
        let seen = browser.value("document.querySelector('main').innerText.length > 40").await;
        assert_eq!(seen, true, "{view} is empty");
        let current = browser.value("document.querySelector('[aria-current]').pathname").await;
        assert_eq!(current, view);
        leave_screenshot(&mut browser, &format!("phone-{}.png", &view[1..])).await;
    }

    assert_eq!(browser.complaints(), Vec::<&Value>::new());
    let outside: Vec<_> =
        browser.requests().into_iter().filter(|asked| !asked.starts_with(&web)).collect();
    assert_eq!(outside, ["about:blank"; 0]);
    assert!(browser.requests().len() > 20, "requests are seen at all");
}

/// Each figure that the page names is the one of the same snapshot.
async fn figures_are_those_of_the_api(browser: &mut Browser, url: &str) {
    let figures = "({ made: Number(document.body.dataset.made), shown: \
                   [...document.querySelectorAll('[data-figure]')].map(place => \
                   [place.dataset.figure, place.dataset.as || 'count', place.textContent]) })";
    for _ in 0..100 {
        // The page is asked to look now, so that it and this test see one snapshot.
        browser.value("refresh()").await;
        let page = browser.value(figures).await;
        let stats = http::json(url, "/api/v1/stats").await;
        if page["made"] != stats["made_at_ms"] {
            continue;
        }
        let shown = page["shown"].as_array().unwrap();
        assert!(shown.len() >= 30, "{shown:?}");
        for figure in shown {
            let [path, form, text] = [0, 1, 2].map(|at| figure[at].as_str().unwrap());
            let value = path.split('.').fold(&stats, |value, key| &value[key]);
            assert!(is_shown(text, form, value), "{path} is {value}, the page shows `{text}`");
        }
        return;
    }
    panic!("the page and the figures never were of one snapshot");
}

/// Leaves a picture in `target/tmp`, under a name that is no machine's. The first one is
/// `docs/dashboard.png`.
async fn leave_screenshot(browser: &mut Browser, name: &str) {
    browser.value("refresh()").await;
    browser.value("find('where').textContent = 'scheduler-1 · instance 0'").await;
    let png = STANDARD.decode(browser.screenshot().await).unwrap();
    assert!(png.starts_with(b"\x89PNG") && png.len() < 200_000, "{} bytes", png.len());
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(path, png).unwrap();
}

#[tokio::test]
async fn pages_forbid_whatever_is_not_theirs() {
    let url = server_with(eager()).await;
    for path in VIEWS.iter().chain(&["/pages/dashboard.js", "/pages/dashboard.css"]) {
        let answer = get(&url, path).await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.head.contains("content-security-policy: default-src 'none'"), "{path}");
        assert!(!answer.head.contains("unsafe-inline"), "{path}");
        for foreign in ["http://", "https://", "//cdn", " style=", " onclick="] {
            let own = answer.body.replace("http://www.w3.org/2000/svg", "");
            assert!(!own.contains(foreign), "{path} has {foreign}");
        }
    }
    assert_eq!(get(&url, "/").await.status, 307);
}
