//! Telling whoever watches that an instance holds too many duties.

use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode, client};
use hyper_util::rt::TokioIo;
use lingua_core::InstanceId;
use serde::Serialize;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::HostPort;

/// Longest wait for whoever is told.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest address.
const BYTES_MAX: usize = 1_024;

/// Where alarms are posted to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    address: HostPort,
    path: String,
}

/// A text that is no address of a webhook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("write http://host:port/path, such as http://alerts:9000/hooks/lingua; TLS is not spoken")]
pub struct WebhookError;

impl FromStr for Webhook {
    type Err = WebhookError;

    fn from_str(text: &str) -> Result<Self, WebhookError> {
        let rest = text.strip_prefix("http://").ok_or(WebhookError)?;
        let (address, path) = rest.split_once('/').unwrap_or((rest, ""));
        let plain = text.len() <= BYTES_MAX && text.bytes().all(|byte| byte.is_ascii_graphic());
        let address = address.parse().ok().filter(|_| plain).ok_or(WebhookError)?;
        Ok(Self { address, path: format!("/{path}") })
    }
}

impl std::fmt::Display for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "http://{}{}", self.address.as_str(), self.path)
    }
}

/// Why an alarm was not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum PostError {
    #[error("no answer in {} s", PATIENCE.as_secs())]
    Silent,
    #[error("no connection: {0}")]
    Connect(#[from] std::io::Error),
    #[error("{0}")]
    Http(#[from] hyper::Error),
    #[error("it answers {0}")]
    Refused(StatusCode),
}

/// What is posted, as JSON.
#[derive(Serialize)]
struct Alarm {
    alarm: &'static str,
    instance: u16,
    held: usize,
    alarm_above: u32,
}

impl Webhook {
    /// Posts that an instance holds so many duties.
    ///
    /// # Errors
    /// It is not reached, or does not take it.
    pub(super) async fn post(
        &self,
        instance: InstanceId,
        held: usize,
        alarm_above: u32,
    ) -> Result<(), PostError> {
        let alarm = Alarm { alarm: "duties", instance: instance.0, held, alarm_above };
        let body = serde_json::to_vec(&alarm).expect("string keys into memory");
        timeout(PATIENCE, self.send(body.into())).await.unwrap_or(Err(PostError::Silent))
    }

    async fn send(&self, body: Bytes) -> Result<(), PostError> {
        let stream = TcpStream::connect(self.address.as_str()).await?;
        let (mut sender, connection) = client::conn::http1::handshake(TokioIo::new(stream)).await?;
        let request = Request::post(&self.path)
            .header(HOST, self.address.as_str())
            .header(CONTENT_TYPE, "application/json")
            .body(axum::body::Body::from(body))
            .expect("a visible path and plain headers");
        let answered = async { Ok(sender.send_request(request).await?.status()) };
        tokio::select! {
            status = answered => match status {
                Ok(status) if status.is_success() => Ok(()),
                Ok(status) => Err(PostError::Refused(status)),
                Err(error) => Err(error),
            },
            ended = connection => Err(ended.err().map_or(PostError::Silent, PostError::Http)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back_and_others_are_refused() {
        for good in ["http://alerts:9000/", "http://[::1]:80/a/b?c=1"] {
            assert_eq!(good.parse::<Webhook>().unwrap().to_string(), good);
        }
        assert_eq!("http://a:1".parse::<Webhook>().unwrap().to_string(), "http://a:1/");
        for bad in ["", "https://a:1/", "http://a/", "http://:1/", "http://a:0/", "http://a:1/ü"] {
            assert_eq!(bad.parse::<Webhook>(), Err(WebhookError), "{bad}");
        }
    }
}
