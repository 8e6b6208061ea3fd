"""Volumes by image family."""

from components.compute.volumes import Volume, volumes_of


def test_bottlerocket_keeps_data_on_a_second_volume():
    assert volumes_of("bottlerocket", 100) == [Volume("/dev/xvda", 4), Volume("/dev/xvdb", 100)]


def test_al2023_has_one_volume():
    assert volumes_of("al2023", 100) == [Volume("/dev/xvda", 100)]


def test_speed_is_for_the_volume_with_the_images():
    system, data = volumes_of("bottlerocket", 100, 10000, 500)
    assert (system.iops, system.throughput_mib) == (None, None)
    assert (data.iops, data.throughput_mib) == (10000, 500)
