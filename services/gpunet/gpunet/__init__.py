"""GPUNet-0 as a service: an image in, ImageNet labels out. `gpunet serve` runs it; the README tells the rest."""
