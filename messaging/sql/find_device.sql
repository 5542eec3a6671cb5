SELECT device.id, device.name, device.created_at, device.active AND enterprise.active,
       subsystem.id, subsystem.name, subsystem.created_at, subsystem.enterprise_id
FROM messaging_device AS device
JOIN messaging_subsystem AS subsystem ON subsystem.id = device.subsystem_id
JOIN messaging_enterprise AS enterprise ON enterprise.id = subsystem.enterprise_id
WHERE device.id = %s
