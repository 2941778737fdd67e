//! Many changes in one request, of which ZooKeeper carries out all or none.

use zookeeper_client::{
    Acls, Client, CreateMode, Error as ClientError, MultiWriteError, MultiWriteResult, MultiWriter,
};

use super::error::ZooKeeperError;

/// A request that is being put together.
pub(super) struct Writer<'a> {
    writer: MultiWriter<'a>,
    acls: Acls<'static>,
    // Of each part.
    paths: Vec<String>,
}

/// What has come of a request.
#[derive(Debug)]
pub(super) enum Outcome {
    /// All is done.
    Done(Vec<MultiWriteResult>),
    /// Nothing is: this part, counted from 0, found a znode that is not as it should be.
    Unmet(usize),
}

impl<'a> Writer<'a> {
    pub(super) fn new(client: &'a Client, acls: Acls<'static>) -> Self {
        Self { writer: client.new_multi_writer(), acls, paths: Vec::new() }
    }

    fn add(
        mut self,
        path: &str,
        part: impl FnOnce(&mut MultiWriter<'a>) -> Result<(), ClientError>,
    ) -> Result<Self, ZooKeeperError> {
        part(&mut self.writer).map_err(|error| ZooKeeperError::at(path, error))?;
        self.paths.push(path.to_owned());
        Ok(self)
    }

    pub(super) fn parts(&self) -> usize {
        self.paths.len()
    }

    /// The znode is there.
    pub(super) fn check(self, path: &str) -> Result<Self, ZooKeeperError> {
        self.add(path, |writer| writer.add_check_version(path, -1))
    }

    /// The znode's data are as old as that.
    pub(super) fn check_version(self, path: &str, version: i32) -> Result<Self, ZooKeeperError> {
        self.add(path, |writer| writer.add_check_version(path, version))
    }

    pub(super) fn create(
        self,
        path: &str,
        data: &[u8],
        mode: CreateMode,
    ) -> Result<Self, ZooKeeperError> {
        let options = mode.with_acls(self.acls);
        self.add(path, |writer| writer.add_create(path, data, &options))
    }

    pub(super) fn delete(self, path: &str) -> Result<Self, ZooKeeperError> {
        self.add(path, |writer| writer.add_delete(path, None))
    }

    /// Sets the data; with a version, where they are as old as that.
    pub(super) fn set(
        self,
        path: &str,
        data: &[u8],
        version: Option<i32>,
    ) -> Result<Self, ZooKeeperError> {
        self.add(path, |writer| writer.add_set_data(path, data, version))
    }

    pub(super) async fn commit(mut self) -> Result<Outcome, ZooKeeperError> {
        use ClientError::{BadVersion, NoNode, NodeExists};
        match self.writer.commit().await {
            Ok(results) => Ok(Outcome::Done(results)),
            Err(MultiWriteError::OperationFailed {
                index,
                source: NoNode | NodeExists | BadVersion,
            }) => Ok(Outcome::Unmet(index)),
            Err(error) => {
                let index = match error {
                    MultiWriteError::OperationFailed { index, .. } => index,
                    MultiWriteError::RequestFailed { .. } => 0,
                };
                let path = self.paths.get(index).map(String::as_str).unwrap_or_default();
                Err(ZooKeeperError::at(path, error.into()))
            }
        }
    }
}
