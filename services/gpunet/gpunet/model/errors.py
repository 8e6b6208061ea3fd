"""What can be wrong with a model; each text says what was found, what is needed, and the way out.

ModelError
  ModelMissing       there is no such file or object, or none was named
  ModelCorrupt       its bytes are not what was promised: SHA-256, format, truncated
  WrongModel         a sound file, but not of this network
  ProviderMissing    the runtime cannot use the wanted device
"""


class ModelError(Exception):
    """The root of the tree. Ends the start of the service."""


class ModelMissing(ModelError):
    """No model was found where the settings say."""


class ModelCorrupt(ModelError):
    """The bytes cannot be trusted or read."""


class WrongModel(ModelError):
    """The file holds something else than this network."""


class ProviderMissing(ModelError):
    """The wanted device is not used."""
