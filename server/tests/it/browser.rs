//! A real browser, driven over its DevTools socket.

use std::process::Stdio;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// Names of the browser, the first that is there is taken.
const PROGRAMS: [&str; 2] = ["chromium", "google-chrome"];

/// Longest wait for an answer of the browser.
const PATIENCE: Duration = Duration::from_secs(60);

/// One browser with one tab. It ends with this value.
pub(crate) struct Browser {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    tab: Value,
    calls: u64,
    events: Vec<Value>,
    _process: Child,
    _profile: TempDir,
}

impl Browser {
    pub(crate) async fn start() -> Self {
        let profile = TempDir::new().unwrap();
        let start = |program| {
            Command::new(program)
                .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
                .args(["--no-first-run", "--disable-background-networking", "--hide-scrollbars"])
                .arg("--remote-debugging-port=0")
                .arg(format!("--user-data-dir={}", profile.path().display()))
                .arg("about:blank")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .kill_on_drop(true)
                .spawn()
        };
        let mut process = PROGRAMS
            .into_iter()
            .find_map(|program| start(program).ok())
            .expect("there is a browser; where none is: apt-get install chromium");
        let mut said = BufReader::new(process.stderr.take().unwrap()).lines();
        let url = timeout(PATIENCE, async {
            while let Some(line) = said.next_line().await.unwrap() {
                if let Some(url) = line.strip_prefix("DevTools listening on ") {
                    return url.to_owned();
                }
            }
            panic!("the browser ended before it listened");
        });
        let url = url.await.expect("the browser listens in time");
        // Its further chatter is read, so that it never waits for a reader.
        tokio::spawn(async move { while let Ok(Some(_)) = said.next_line().await {} });
        let (socket, _) = connect_async(url).await.unwrap();
        let mut browser = Self {
            socket,
            tab: Value::Null,
            calls: 0,
            events: Vec::new(),
            _process: process,
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" })).await;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", attach).await;
        browser.tab = attached["sessionId"].clone();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({})).await;
        }
        browser
    }

    /// Calls a method; events that come meanwhile are kept.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let mut call = json!({ "id": self.calls, "method": method, "params": params });
        if !self.tab.is_null() {
            call["sessionId"] = self.tab.clone();
        }
        self.socket.send(Message::text(call.to_string())).await.unwrap();
        loop {
            let message = timeout(PATIENCE, self.socket.next()).await.expect("an answer in time");
            let Message::Text(text) = message.unwrap().unwrap() else { continue };
            let mut message: Value = serde_json::from_str(&text).unwrap();
            if message["id"] == self.calls {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].take();
            }
            self.events.push(message);
        }
    }

    /// Makes the tab so wide and high, and opens an address.
    pub(crate) async fn open(&mut self, url: &str, width: u32, height: u32) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500,
        });
        self.call("Emulation.setDeviceMetricsOverride", size).await;
        self.call("Page.navigate", json!({ "url": url })).await;
    }

    /// The value of a JavaScript expression.
    pub(crate) async fn value(&mut self, expression: &str) -> Value {
        let asked = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true,
        });
        let answer = self.call("Runtime.evaluate", asked).await;
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Waits until a JavaScript expression is true.
    pub(crate) async fn wait(&mut self, expression: &str) {
        for _ in 0..600 {
            if self.value(expression).await == true {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("never true: {expression}");
    }

    /// The tab as PNG, base64.
    pub(crate) async fn screenshot(&mut self) -> String {
        let shot = self.call("Page.captureScreenshot", json!({ "format": "png" })).await;
        shot["data"].as_str().unwrap().to_owned()
    }

    /// Addresses that the tab has asked for.
    pub(crate) fn requests(&self) -> Vec<&str> {
        let sent = |event: &&Value| event["method"] == "Network.requestWillBeSent";
        let all = self.events.iter().filter(sent);
        all.filter_map(|event| event["params"]["request"]["url"].as_str()).collect()
    }

    /// Whatever the console shows as an error or a warning, refusals of the content policy among it.
    pub(crate) fn complaints(&self) -> Vec<&Value> {
        let complains = |event: &&Value| match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => true,
            "Runtime.consoleAPICalled" => {
                ["error", "warning", "assert"].map(Value::from).contains(&event["params"]["type"])
            }
            "Log.entryAdded" => {
                let level = &event["params"]["entry"]["level"];
                ["error", "warning"].map(Value::from).contains(level)
            }
            _ => false,
        };
        self.events.iter().filter(complains).collect()
    }
}
